-- The moment from which the real client counts the lease: never later than the sending of the request that proves it. A
-- proxy delays answers, so counting from an answer would be wrong.

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run = env.run

local TIMEOUT, TICK = 10, 0.5
local SPAN = TIMEOUT - TIMEOUT / 100 -- by which a proof extends the lease
local HELD = 0.5 -- seconds; a second later the client would give up the attempt
local ONE_WAY = 0.475 -- seconds

-- The time until which the hold says that it is valid, or up to a millisecond less.
local function ends(hold)
  local from, left
  repeat from, left = zk.now(), hold:left() until zk.now() - from < 0.001
  return from + left
end

for _, strict in ipairs { false, true } do
  describe(strict and "the lease of a strict session" or "the lease of a session", function()
    local proxy, session, hold

    local function begin()
      proxy = env.proxy()
      session = env.session { hosts = proxy.hosts, timeout = TIMEOUT, tick = TICK, strict = strict }
      env.eventually("it holds", function() -- a busy machine may lose the session first
        hold = session:lock("/l"):acquire(300)
        return hold
      end)
    end

    local function finish()
      proxy:clear()
      proxy:release()
      proxy:heal()
      session:close()
    end

    local function lose_link()
      proxy:refuse()
      proxy:cut()
      env.eventually("the link is seen to be lost", function() return session.state ~= "connected" end)
    end

    -- Reconnects. The first answer to such a request is delayed. No later heartbeat counts, because none is answered.
    -- Returns the time from which the client could connect, and a time at which it had sent the request. Returns nil if
    -- the client tried more than once, as on a busy machine.
    local function reconnect(request)
      proxy:clear()
      proxy:reset()
      proxy:hold_reply(request)
      proxy:hold_reply(strict and "delete" or "heartbeat", strict and 1 or 2)
      local from = zk.now()
      proxy:heal()
      assert(proxy:wait_for("fired"))
      local sent = zk.now()
      zk.sleep(HELD)
      proxy:release()
      env.eventually("the link is back", function() return session.state == "connected" end)
      return proxy:sent().connect == 1 and from, sent
    end

    -- Repeats this until one attempt was enough. Also returns until when the hold was valid before, and is valid now.
    local function retime(request)
      while true do
        begin()
        lose_link()
        local before = ends(hold)
        local from, sent = reconnect(request)
        local after = ends(hold)
        if from and hold:valid() then return from, sent, before, after end
        finish()
      end
    end

    for request, name in pairs { connect = "a handshake", heartbeat = "the request that confirms it" } do
      if strict then
        it("does not count " .. name .. " of an existing session", run(function()
          local _, _, before, after = retime(request)
          assert.is_true(after <= before + 0.001, after - before)
          finish()
        end))
      else
        it("counts from the connect when the answer to " .. name .. " comes late", run(function()
          local from, sent, _, after = retime(request)
          assert.is_true(after <= sent + SPAN, "too late by " .. after - sent - SPAN)
          assert.is_true(after >= from + SPAN - 0.001, "too early by " .. from + SPAN - after)
          finish()
        end))
      end
    end

    if strict then
      -- The first write is sent a sixteenth of the timeout after the sync that confirms the handshake.
      it("counts no sync", run(function()
        local from, first
        repeat
          if first then finish() end
          local _, before
          from, _, before = retime "heartbeat"
          proxy:clear()
          proxy:release()
          env.eventually("a heartbeat counts", function() return not hold:valid() or ends(hold) > before + 0.01 end)
          first = ends(hold)
        until hold:valid() -- if not, the machine was too busy
        assert.is_true(first >= from + TIMEOUT / 16 + SPAN - 0.001, "too early by " .. from + TIMEOUT / 16 + SPAN - first)
        finish()
      end))
    end

    -- A heartbeat counts when four later ones were answered. Each is sent after the answer to the one before and a wait
    -- (docs/lease.md). So the heartbeat is five round trips and these waits old.
    it("counts from when a heartbeat was sent when answers come late", run(function()
      local oldest, counted = 5 * 2 * ONE_WAY + 4 * TIMEOUT / 40 + TICK / 2, false
      repeat
        begin()
        proxy:delay(1000 * ONE_WAY)
        local first, all_late = ends(hold), zk.now() + oldest -- earlier heartbeats may have been answered at once
        env.eventually("heartbeats count", function()
          counted = zk.now() > all_late and hold:valid() and ends(hold) > first + TIMEOUT / 4
          return counted or not hold:valid()
        end)
        if not counted then finish() end -- the machine was too busy
      until counted
      local most = SPAN - oldest + 0.01
      for _ = 1, 200 do
        assert.is_true(hold:left() <= most, "too much by " .. hold:left() - most)
        zk.sleep(0.01)
      end
      finish()
    end))
  end)
end
