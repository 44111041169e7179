-- Cron expressions: "minute hour day-of-month month day-of-week", in UTC, as crontab(5) has them.
--
--     *          every value           1,15       a list
--     8-18       a range               */10, 8-18/2   every so many of a range
--     jan, MON   names of months and days; Sunday is 0 and 7
--
-- If day-of-month and day-of-week both say less than "*", a day matches if one of them matches. All times are seconds since 1970 in
-- whole minutes; a day is a number too, days since 1970.

local core = require "zkrecipes.core"

local M = {}

local MINUTE, DAY = 60, 86400
local FARTHEST = 41 * 366 -- days; a 29th of February on a given weekday may be 40 years away

local MONTHS = { jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12 }
local WEEKDAYS = { sun = 0, mon = 1, tue = 2, wed = 3, thu = 4, fri = 5, sat = 6 }

local FIELDS = {
  { name = "minute", from = 0, to = 59 },
  { name = "hour", from = 0, to = 23 },
  { name = "day of month", from = 1, to = 31 },
  { name = "month", from = 1, to = 12, names = MONTHS },
  { name = "day of week", from = 0, to = 7, names = WEEKDAYS },
}

-- ---- Reading an expression -----------------------------------------------------------------------

local function number(field, text)
  local value = text:find "^%d%d?$" and tonumber(text) or (field.names or {})[text:lower()]
  return value and value >= field.from and value <= field.to and value or nil
end

-- "8-18/2" > 8, 18, 2; nil: it is none. A step after a single number has no end, as in "5/10".
local function range(field, text)
  local values, slash, step = text:match "^([^/]+)(/?)(%d*)$"
  if not values or (slash == "") ~= (step == "") then return nil end
  local every = step == "" and 1 or tonumber(step)
  if every < 1 then return nil end
  if values == "*" then return field.from, field.to, every end
  local first, last = values:match "^(%w+)%-(%w+)$"
  local from = number(field, first or values)
  local to = last and number(field, last) or not last and (step == "" and from or field.to)
  if from and to and from <= to then return from, to, every end
end

-- The set of the field's values; or nil and the part that is none.
local function set_of(field, text)
  local set, parts = {}, text .. ","
  for part in parts:gmatch "([^,]*)," do
    local from, to, step = range(field, part)
    if not from then return nil, part end
    for value = from, to, step do set[value] = true end
  end
  return set
end

local function sets_of(text)
  local sets, number_of = {}, 0
  for word in text:gmatch "%S+" do
    number_of = number_of + 1
    local field = FIELDS[number_of]
    if not field then break end
    local set, bad = set_of(field, word)
    if not set then return nil, ("%s: from %d to %d expected, got '%s'"):format(field.name, field.from, field.to, bad) end
    sets[number_of] = set
  end
  if number_of ~= #FIELDS then return nil, "five fields expected: minute, hour, day of month, month, day of week" end
  return sets, text:match "^%s*%S+%s+%S+%s+(%S+)%s+%S+%s+(%S+)"
end

-- ---- Days ----------------------------------------------------------------------------------------

local function matches(cron, day)
  local date = os.date("!*t", day * DAY)
  if not cron.months[date.month] then return false end
  local by_month, by_week = cron.days[date.day], cron.weekdays[date.wday - 1]
  if cron.either then return by_month or by_week or false end
  return by_month and by_week or false
end

-- The seconds of a day at which it fires, in order.
local function moments(hours, minutes)
  local list = {}
  for hour = 0, 23 do
    for minute = 0, 59 do
      if hours[hour] and minutes[minute] then list[#list + 1] = hour * 3600 + minute * MINUTE end
    end
  end
  return list
end

-- How many moments of a day are not after this second of it.
local function passed(cron, second)
  local count = 0
  while cron.moments[count + 1] and cron.moments[count + 1] <= second do count = count + 1 end
  return count
end

-- ---- The schedule --------------------------------------------------------------------------------

local Cron = {}
Cron.__index = Cron

-- The first moment after this time; nil: there is none.
function Cron:next(time)
  local today = math.floor(time / DAY)
  for day = today, today + FARTHEST do
    local moment = matches(self, day) and self.moments[day == today and passed(self, time - today * DAY) + 1 or 1]
    if moment then return day * DAY + moment end
  end
end

-- The last moment after `from` that is not after `to`, and how many there are; nil, 0: there is none.
function Cron:between(from, to)
  local last, count
  local first_day, last_day = math.floor(from / DAY), math.floor(to / DAY)
  count = 0
  for day = first_day, last_day do
    if matches(self, day) then
      local low = day == first_day and passed(self, from - day * DAY) or 0
      local high = day == last_day and passed(self, to - day * DAY) or #self.moments
      if high > low then last, count = day * DAY + self.moments[high], count + high - low end
    end
  end
  return last, count
end

-- parse("0 3 * * *"): the schedule; or nil and what is wrong with the expression.
function M.parse(text)
  local sets, days, weekdays = sets_of(text)
  if not sets then return nil, days end
  if sets[5][7] then sets[5][0] = true end
  local cron = setmetatable({ moments = moments(sets[2], sets[1]), days = sets[3], months = sets[4], weekdays = sets[5],
    either = days:sub(1, 1) ~= "*" and weekdays:sub(1, 1) ~= "*" }, Cron)
  if not cron:next(0) then return nil, "no day matches" end
  return cron
end

core.own(debug.getinfo(1, "S").source)
return M
