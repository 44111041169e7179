-- Cron expressions, against a table of dates that was made by hand, and against a slow reading of the same rules. Needs no server.

local cron = require "zkrecipes.recipes.election.cron"

-- "2024-02-29 03:00" > seconds since 1970, without os.time, whose zone is that of the machine.
local function at(text)
  local year, month, day, hour, minute = text:match "^(%d+)-(%d+)-(%d+) (%d+):(%d+)$"
  local before = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 }
  local function leaps(y) return math.floor(y / 4) - math.floor(y / 100) + math.floor(y / 400) end
  year, month = tonumber(year), tonumber(month)
  local days = (year - 1970) * 365 + leaps(year - 1) - leaps(1969) + before[month] + tonumber(day) - 1
  if month > 2 and leaps(year) > leaps(year - 1) then days = days + 1 end
  return days * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60
end

-- Expression, a time, and the next moments after it.
local TABLE = {
  { "* * * * *", "2024-11-26 12:40", "2024-11-26 12:41", "2024-11-26 12:42" },
  { "59 23 31 12 *", "2024-12-31 23:59", "2025-12-31 23:59" },
  { "0 0 1 1 *", "2024-12-31 23:59", "2025-01-01 00:00", "2026-01-01 00:00" },
  { "0 3 * * *", "2024-11-26 12:40", "2024-11-27 03:00", "2024-11-28 03:00" },
  { "0 3 * * *", "2024-11-26 03:00", "2024-11-27 03:00" },
  { "0 3 * * *", "2024-11-26 02:59", "2024-11-26 03:00" },
  { "*/15 8-18/2 1,15 jan-mar mon", "2024-11-26 12:40", "2025-01-01 08:00", "2025-01-01 08:15" },
  { "*/25 * * * *", "2024-11-26 12:40", "2024-11-26 12:50", "2024-11-26 13:00", "2024-11-26 13:25" },
  { "5/20 * * * *", "2024-11-26 12:40", "2024-11-26 12:45", "2024-11-26 13:05" },
  { "0 0 29 2 *", "2024-11-26 12:40", "2028-02-29 00:00", "2032-02-29 00:00" },
  { "0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00" },
  { "0 0 29 2 */7", "2024-11-26 12:40", "2032-02-29 00:00", "2060-02-29 00:00" }, -- a 29th that is a Sunday: both fields say '*'
  { "0 0 31 * *", "2025-01-31 00:00", "2025-03-31 00:00", "2025-05-31 00:00" },
  { "0 0 13 * 5", "2024-11-26 12:40", "2024-11-29 00:00", "2024-12-06 00:00", "2024-12-13 00:00" }, -- the 13th, and each Friday
  { "0 0 13 * FRI", "2024-12-08 00:00", "2024-12-13 00:00", "2024-12-20 00:00" },
  { "30 4 1,15 * 5", "2024-11-26 12:40", "2024-11-29 04:30", "2024-12-01 04:30", "2024-12-06 04:30" },
  { "0 0 * * 7", "2024-11-26 12:40", "2024-12-01 00:00", "2024-12-08 00:00" },
  { "0 0 * * 0", "2024-11-26 12:40", "2024-12-01 00:00", "2024-12-08 00:00" },
  { "0 22 * * 1-5", "2024-11-29 22:00", "2024-12-02 22:00" },
  { "  0\t0  1  Jan  *  ", "2024-11-26 12:40", "2025-01-01 00:00" },
}

local BAD = {
  ["0 0 30 2 *"] = "no day matches", ["0 0 31 4,6,9,11 *"] = "no day matches",
  ["60 * * * *"] = "minute: from 0 to 59 expected, got '60'", ["* 24 * * *"] = "hour", ["* * 0 * *"] = "day of month",
  ["* * * 13 *"] = "month", ["* * * * 8"] = "day of week", ["* * * * mond"] = "day of week", ["* * * tue *"] = "month",
  ["-1 * * * *"] = "minute", ["1- * * * *"] = "minute", ["5-1 * * * *"] = "minute", ["*/0 * * * *"] = "minute", ["/5 * * * *"] = "minute",
  ["1, * * * *"] = "minute", ["1,,2 * * * *"] = "minute", ["1.5 * * * *"] = "minute", ["0x1 * * * *"] = "minute",
  ["* * * *"] = "five fields",
  ["* * * * * *"] = "five fields", [""] = "five fields", ["@daily"] = "minute", ["1-2-3 * * * *"] = "minute", ["*/2/2 * * * *"] = "minute",
  ["*-5 * * * *"] = "minute", ["001 * * * *"] = "minute", ["*/99999999999999999999 * * * *"] = false, ["1\0 * * * *"] = "minute",
}

describe("a cron expression", function()
  for _, row in ipairs(TABLE) do
    it(("'%s' after %s"):format(row[1], row[2]), function()
      local schedule, time = assert(cron.parse(row[1])), at(row[2])
      for i = 3, #row do
        time = schedule:next(time)
        assert.are.equal(row[i], os.date("!%Y-%m-%d %H:%M", time))
        assert.are.equal(at(row[i]), time)
      end
    end)
  end

  it("that is none is refused, with the reason", function()
    for text, reason in pairs(BAD) do
      local schedule, problem = cron.parse(text)
      if reason then
        assert.is_nil(schedule, text)
        assert.is_truthy(problem:find(reason, 1, true), text .. ": " .. problem)
      else
        assert.is_truthy(schedule)
      end
    end
  end)

  it("gives the last moment of a time and how many there are, as step by step", function()
    local expressions = { "*/7 3-5 * * *", "0 0 * * *", "30 12 1-7 * mon", "0 */6 29 2,3 *", "59 23 * 12 0,6" }
    local from = at "2023-12-20 11:13"
    for _, text in ipairs(expressions) do
      local schedule = assert(cron.parse(text))
      for _, span in ipairs { 0, 60, 3600, 86399, 86400, 86460, 40 * 86400, 90 * 86400 } do
        local last, count, time = nil, 0, schedule:next(from)
        while time <= from + span do
          last, count, time = time, count + 1, schedule:next(time)
        end
        local got, number = schedule:between(from, from + span)
        assert.are.same({ last, count }, { got, number })
      end
      assert.are.same({ nil, 0 }, { schedule:between(from, from - 1000000) })
    end
  end)

  it("takes times with fractions of a second", function()
    local schedule, noon = assert(cron.parse "0 12 * * *"), at "2024-11-26 12:00"
    assert.are.equal(noon, schedule:next(noon - 0.001))
    assert.are.equal(noon + 86400, schedule:next(noon))
    assert.are.same({ noon, 1 }, { schedule:between(noon - 0.001, noon) })
    assert.are.same({ nil, 0 }, { schedule:between(noon, noon + 0.999) })
  end)
end)
