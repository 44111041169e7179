-- A controller of cqueues, for the contract of adapters (spec/adapters/contract.lua).

local cqueues = require "cqueues"

local M = { ends = true, sleep = cqueues.sleep, controller = cqueues.new() }

function M.start(fn) M.controller:wrap(fn) end

function M.run(limit, over)
  local deadline = cqueues.monotime() + limit
  while not M.controller:empty() and cqueues.monotime() < deadline and not over() do
    local ok, problem = M.controller:step(deadline - cqueues.monotime())
    if not ok then error(problem, 0) end
  end
  return M.controller:empty()
end

return M
