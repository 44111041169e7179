-- Two-phase commit: no participant commits what another aborts; what is called, and what `run` returns, is the one decision that the leader
-- has; nothing is committed without a yes of each participant; a transaction that is aborted because of the time is not aborted too early;
-- nothing is tidied that a participant has not done; who has voted is not asked again; a service that was stopped calls nothing more. When
-- the faults stop, everything ends: what is pending waits only for a participant that never serves, until an operator deletes its inbox.
-- Coordinators and participants are stopped at any moment, functions fail, names are served twice, ids are run again.

local DIR = "/tp"
local SLACK = 0.02 -- seconds: the trace rounds
local NAMES = { "a", "b/1", "=" }

-- ---- What the leader had -------------------------------------------------------------------------

local function path_of(id) return DIR .. "/transactions/" .. id end

local function state_in(data) return data and data:match "%?state (%l+)" or data and data:match "\nstate (%l+)" end

-- Id > { created =, decided = { at =, state = }, tidied = (time), deleted = }; and whether each change follows on what was there.
local function transactions_of(h)
  local found = {}
  for _, change in ipairs(h.changes) do
    local id = change.path:match("^" .. DIR .. "/transactions/([^/]+)$")
    local one = id and (found[id] or {})
    if change.kind == "create" and id then
      h:expect(not one.created, "%s was made twice", id)
      one.created, one.seconds = change.at, tonumber(change.data:match "milliseconds (%d+)") / 1000
    elseif change.kind == "set" and id then
      local state = state_in(change.data)
      h:expect(state ~= "open" and not one.tidied, "%s is written as %s", id, tostring(state))
      if one.decided then one.tidied = change.at else one.decided = { at = change.at, state = state } end
      h:expect(one.decided.state == state, "%s was %s, and is %s", id, one.decided.state, tostring(state))
    elseif change.kind == "delete" and id then
      h:expect(one.tidied, "%s was deleted before it was tidied", id)
      h:expect(change.at >= one.tidied + h.keep - SLACK, "%s is forgotten too early", id)
      one.deleted = change.at
    end
    if id then found[id] = one end
  end
  return found
end

-- When the leader got the vote of this name; nil: it did not.
local function vote_of(h, zk, id, name)
  for _, change in ipairs(h.changes) do
    if change.kind == "create" and change.path:find(path_of(id) .. "/yes.", 1, true) == 1
      and change.path:match "/yes%.[^.]+%.(.*)$" == zk.escape(name) then
      return change.at
    end
  end
end

-- ---- Participants --------------------------------------------------------------------------------

-- What a function of the user does; true: it fails.
local function trouble(h, zk)
  if not h.healed and h:chance(0.2) then zk.sleep(h:within(h:chance(0.8) and 0.5 or 8)) end
  return not h.healed and h:chance(0.2)
end

local function fail(h)
  local way = h:below(3)
  if way == 1 then error "the database is away" end
  if way == 2 then return nil, "the database is away" end
  return false
end

-- A rule that is checked in a function of the user, whose errors are caught.
local function rule(h, truth, text, ...)
  if not truth then h.violated = h.violated or text:format(...) end
end

local function entry_of(book, id)
  book[id] = book[id] or {}
  return book[id]
end

-- The functions of one service. answers: what prepare says, by id. book: what the database of this name has.
local function handlers_of(h, zk, name, service)
  local book = h.books[name]
  local function ended(state)
    return function(id, data)
      rule(h, data == "data of " .. id, "%s gets other data for %s", name, id)
      rule(h, not service.stopped, "%s is stopped, and is called for %s", name, id)
      h.called[#h.called + 1] = { id = id, name = name, state = state, at = h.world:now() }
      if trouble(h, zk) then return fail(h) end
      local entry = entry_of(book, id)
      rule(h, not entry.ended or entry.ended == state, "%s has %s %s, and now %s", name, tostring(entry.ended), id, state)
      entry.ended, entry.ended_at = state, entry.ended_at or h.world:now()
    end
  end
  return { commit = ended "committed", abort = ended "aborted", prepare = function(id, data)
    rule(h, data == "data of " .. id, "%s gets other data for %s", name, id)
    rule(h, not service.stopped, "%s is stopped, and is asked for %s", name, id)
    local entry = entry_of(book, id)
    local voted = vote_of(h, zk, id, name)
    rule(h, not voted or voted > service.since - SLACK, "%s has voted for %s, and is asked again", name, id)
    rule(h, not service.prepared[id], "%s is asked twice for %s", name, id)
    service.prepared[id] = true
    if trouble(h, zk) then return fail(h) end
    local answer = service.answers[id]
    if answer == nil then
      answer = not h:chance(0.15)
      service.answers[id] = answer
    end
    if answer then entry.yes = true end
    if not answer and h:chance(0.5) then return nil end
    return answer
  end }
end

local function begin_service(h, zk, two, name, answers)
  local service = { since = h.world:now(), answers = answers, prepared = {}, name = name }
  service.participant = h:expect(two:serve(name, handlers_of(h, zk, name, service)), "cannot serve")
  return service
end

-- Serves, and is stopped now and then; the last one stays.
local function server(h, zk, two, name)
  local answers = {} -- of one process
  local stays = h:chance(0.3)
  while not h.healed and not stays do
    local service = begin_service(h, zk, two, name, answers)
    zk.sleep(h:within(h:chance(0.4) and 1 or 15))
    service.stopped = true
    if h:chance(0.5) then
      service.participant:close()
    else
      local ok, _, code = service.participant:stop(h:within(3))
      h:expect(ok or code == "timeout", "stop: %s", tostring(code))
      if not ok then service.participant:close() end
    end
    h:expect(service.participant:wait(30), "a participant does not end")
    if h:chance(0.3) then zk.sleep(h:within(5)) end
  end
  h.services[#h.services + 1] = begin_service(h, zk, two, name, answers)
end

-- ---- Coordinators --------------------------------------------------------------------------------

local FAILS = { connection_loss = true, canceled = true, closed = true }

local function names_of(h, id)
  if h.names[id] then return h.names[id] end
  local names = {}
  for _, name in ipairs(NAMES) do
    if h.served[name] and h:chance(0.7) then names[#names + 1] = name end
  end
  if h:chance(0.1) or #names == 0 then names[#names + 1] = "ghost" end
  h.names[id] = names
  return names
end

local function run(h, zk, two, id)
  local names, timeout = names_of(h, id), h:chance(0.1) and 0 or h:within(h:chance(0.5) and 2 or 15)
  local note, call = {}, { id = id, began = h.world:now() }
  h.runs[#h.runs + 1] = call
  local state, why, code = h:attempt(zk, function() return two:run(id, "data of " .. id, names, timeout) end, note)
  call.state, call.why = state, why
  h:expect(state == "committed" or state == "aborted" or FAILS[code] or h.starves and code == "no_memory", "run %s: %s", id,
    tostring(why))
  h:expect(code ~= "canceled" or note.struck, "run %s was canceled", id)
end

local function coordinator(h, zk, two, name)
  for number = 1, h:below(6) do
    zk.sleep(h:chance(0.4) and 0 or h:within(6))
    local id = h.reuses and h:chance(0.3) and "t" .. h:below(4) or ("%s.%d"):format(name, number)
    run(h, zk, two, id)
    if h:chance(0.2) then
      local list, message, code = h:attempt(zk, function() return two:pending(h:within(4)) end)
      h:expect(list or FAILS[code] or code == "timeout" or h.starves and code == "no_memory", "pending: %s", tostring(message))
    end
  end
end

-- ---- The rules -----------------------------------------------------------------------------------

local function check_called(h, found)
  for _, call in ipairs(h.called) do
    local one = h:expect(found[call.id], "%s was called for %s, which nobody began", call.name, call.id)
    h:expect(one.decided and one.decided.state == call.state, "%s: %s by %s, and the decision is %s", call.id, call.state, call.name,
      one.decided and one.decided.state or "open")
    h:expect(call.at >= one.decided.at - SLACK, "%s: %s called %s before the decision", call.id, call.name, call.state)
  end
end

local function check_runs(h, found)
  local earliest = {}
  for _, call in ipairs(h.runs) do
    local seconds = (found[call.id] or {}).seconds -- of the run that made it; another one has joined it
    earliest[call.id] = seconds and math.min(earliest[call.id] or math.huge, call.began + seconds)
  end
  for _, call in ipairs(h.runs) do
    local decided = (found[call.id] or {}).decided
    if call.state then
      h:expect(decided and decided.state == call.state, "run %s returns %s, and the decision is %s", call.id, call.state,
        decided and decided.state or "open")
      h:expect((call.why == nil) == (call.state == "committed"), "run %s: %s because of %s", call.id, call.state, tostring(call.why))
    end
    if call.why and call.state and call.why:find "in time" then
      h:expect(decided.at >= earliest[call.id] - SLACK, "%s: the time was not over at %.3f", call.id, decided.at)
    end
  end
end

local function check_votes(h, id, one)
  for _, name in ipairs(h.names[id]) do
    local entry = (h.books[name] or {})[id] or {}
    h:expect(one.decided.state ~= "committed" or entry.yes, "%s is committed, and %s has not said yes", id, name)
    local done = entry.ended and entry.ended_at <= (one.tidied or math.huge) + SLACK
    h:expect(not one.tidied or done or h.given_up and name == "ghost", "%s is tidied, and %s has not done it", id, name)
  end
end

local function check_transactions(h, found)
  for id, one in pairs(found) do
    h:expect(one.decided, "%s is not decided", id)
    check_votes(h, id, one)
    local ghost = h.names[id][#h.names[id]] == "ghost" and not h.books.ghost and not h.given_up
    h:expect(one.tidied or ghost, "%s is not tidied", id)
    h:expect(one.deleted or ghost, "%s is not forgotten", id)
  end
end

local function check_pending(h, list)
  for _, one in ipairs(list) do
    local alone = #one.participants == 1 -- then nobody else completes it
    h:expect(not h.books.ghost and not h.given_up and (alone or one.state == "aborted") and table.concat(one.awaited, ",") == "ghost",
      "%s is %s, and waits for %s", one.id, one.state, table.concat(one.awaited, ","))
  end
end

-- Nobody deletes a transaction here, so no participant may say so.
local function session_of(h, zk)
  local session = zk.session { timeout = 4 + h:below(3) * 2, log = function(_, text)
    rule(h, not text:find("has deleted", 1, true), "%s", text)
  end }
  h.sessions[#h.sessions + 1] = session
  return session
end

-- An operator deletes the inbox of a participant that does not come back.
local function give_up(h, session)
  h.given_up = true
  local ok, message, code
  repeat ok, message, code = session:delete_tree(DIR .. "/participants/ghost") until code ~= "connection_loss"
  h:expect(ok or code == "no_node", "the inbox is not deleted: %s", tostring(message))
end

return function(h)
  h.books, h.names, h.served, h.runs, h.called, h.services = {}, {}, {}, {}, {}, {}
  h.reuses, h.starves = h:chance(0.7), h:chance(0.2)
  h.keep = h.reuses and 600 or h:pick { 3, 40 }
  local last
  for number = 1, 1 + h:below(3) do
    local zk = h:process()
    local session = session_of(h, zk)
    local two = session:two_phase(DIR, { keep = h.keep })
    for place, name in ipairs(NAMES) do
      if not h.served[name] and number > 1 and h:chance(0.6) or h.served[name] and h:chance(0.15) or number == 1 and place == 1 then
        h.served[name], h.books[name] = true, h.books[name] or {}
        h:user(("server %d %s"):format(number, name), zk, function() server(h, zk, two, name) end)
      end
    end
    for i = 1, h:below(2) do
      local name = ("%d-%d"):format(number, i)
      h:user("coordinator " .. name, zk, function() coordinator(h, zk, two, name) end)
    end
    last = { zk = zk, two = two }
  end
  function h.settle()
    if h:chance(0.5) then
      h.books.ghost = {}
      h.services[#h.services + 1] = begin_service(h, last.zk, last.two, "ghost", {})
    end
  end
  function h.check()
    h:expect(not h.violated, "%s", h.violated)
    if not h.books.ghost and h:chance(0.5) then give_up(h, last.two.session) end
    h.world:advance(60)
    check_pending(h, h:expect(last.two:pending(100), "pending fails"))
    h.world:advance((h.given_up and 8 or 3) * h.keep + 60)
    local found = transactions_of(h)
    check_called(h, found)
    check_runs(h, found)
    check_transactions(h, found)
    for _, service in ipairs(h.services) do service.participant:close() end
    h.services, last = {}, nil
  end
end
