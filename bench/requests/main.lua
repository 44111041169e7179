#!/usr/bin/env lua5.4
-- make bench-requests [ONLY=load,count] [DOCS=1]: how many requests and bytes the coordination recipes need for one more operation, beside
-- those of Curator and kazoo for the same job. A proxy counts.
--
-- Each contestant does a job few times and many times, in a process of its own each time. The difference is divided by that of the
-- numbers, so that what is done once is left out. Prints the table; with DOCS=1 it is written into docs/benchmarks.md.

package.path = "lua/?.lua;./?.lua;" .. package.path

local measure = require "bench.driver.measure"
local report = require "bench.driver.report"
local testing = require "zkrecipes.testing"

local JARS = {}
for name in ("curator-x-discovery curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava jackson-core "
  .. "jackson-databind jackson-annotations slf4j-api slf4j-nop"):gmatch("%S+") do
  JARS[#JARS + 1] = "/usr/share/java/" .. name .. ".jar"
end

local CONTESTANTS = {
  { id = "ours", title = "zkrecipes", program = "env LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='build/5.4/?.so;;' lua5.4 "
    .. "bench/requests/zkrecipes.lua" },
  { id = "curator", title = "Curator", program = "java -cp build/bench:" .. table.concat(JARS, ":") .. " Requests" },
  { id = "kazoo", title = "kazoo", program = "/usr/bin/python3 bench/requests/kazoo_requests.py" },
}

-- job, what, few, many, contestants that take part; `curator`: another job for Curator.
local ROWS = {
  { "load", "a copy is loaded, per znode (`tree`, TreeCache, TreeCache)", 100, 300, "ours curator kazoo" },
  { "load", "the same with CuratorCache, which needs ZooKeeper 3.6", 100, 300, "curator", curator = "load_cache" },
  { "change", "a datum changes, seen in a copy of 10 znodes", 20, 60, "ours curator kazoo" },
  { "change", "the same with CuratorCache", 20, 60, "curator", curator = "change_cache" },
  { "add", "a child is added, seen in a copy of 100 and more", 20, 60, "ours curator kazoo" },
  { "add", "the same with CuratorCache", 20, 60, "curator", curator = "add_cache" },
  { "value", "a setting changes, seen by a reader (`config`, NodeCache, DataWatch)", 20, 60, "ours curator kazoo" },
  { "count", "add 1 to a counter (`counter`, DistributedAtomicLong, Counter)", 100, 300, "ours curator kazoo" },
  { "count_after", "the same, when another client has added since", 100, 300, "ours curator kazoo" },
  { "presence", "an ephemeral that heals is made and removed (`presence`, PersistentNode)", 20, 60, "ours curator" },
  { "member", "join a group of 10, see its members, leave (`group`, GroupMember, Party)", 20, 60, "ours curator kazoo" },
  { "who", "ask who is in the group of 10", 100, 300, "ours curator kazoo" },
  { "services", "a service is discovered, per instance (`registry`, ServiceProvider)", 30, 90, "ours curator" },
  { "register", "an instance registers and leaves, seen by a reader in the same client", 20, 60, "ours curator" },
  { "pick", "choose one of 10 instances", 100, 300, "ours curator" },
  { "parts", "a part is gained, no other member (`partitioner`, SetPartitioner)", 10, 30, "ours kazoo" },
  { "parts_half", "a part moves to a second member: the requests of that member", 20, 60, "ours kazoo" },
}

local function option(name)
  local value = os.getenv(name)
  return value and value ~= "" and value or nil
end

local function wanted(row)
  local only = option("ONLY")
  return not only or ("," .. only .. ","):find("," .. row[1] .. ",", 1, true)
end

-- What one contestant needs in one row: { figure = { median = number } }.
local function count(row, one, hosts)
  local job = one.id == "curator" and row.curator or row[1]
  local figures, why = measure.measure({ kind = "counts", run = { job .. " %d", row[3], row[4] } }, one, hosts)
  if not figures then
    io.stderr:write(("%s in %s: no figure: %s\n"):format(one.title, job, why))
    return nil
  end
  local of = {}
  for name, value in pairs(figures) do of[name] = { median = value } end
  return of
end

local function count_all(hosts)
  local rows = {}
  for _, row in ipairs(ROWS) do
    if wanted(row) then
      local of = {}
      for _, one in ipairs(CONTESTANTS) do
        one.command = ("env DIRECT=%s %s"):format(hosts, one.program)
        if row[5]:find(one.id, 1, true) then of[one.id] = count(row, one, hosts) end
      end
      rows[#rows + 1] = { id = row[1], title = row[2], kind = "counts", of = of }
      io.stderr:write(row[2], "\n")
    end
  end
  return rows
end

local function write_docs(text)
  local file <close> = assert(io.open("docs/benchmarks.md"))
  local page = file:read("a")
  local from = assert(select(2, page:find("<!-- requests -->\n", 1, true)), "docs/benchmarks.md has no place for it")
  local to = assert(page:find("<!-- end -->", from, true))
  local out <close> = assert(io.open("docs/benchmarks.md", "w"))
  out:write(page:sub(1, from), "\n", text, "\n", page:sub(to))
end

local server = assert(testing.start { config = { maxClientCnxns = 0 } })
local ok, rows = pcall(count_all, server.hosts)
server:stop()
if not ok then error(rows, 0) end
local text = report.markdown { text = os.date("%Y-%m-%d") .. "; ZooKeeper 3.8, Curator 5.4 and kazoo 2.8 of Debian 12.",
  contestants = CONTESTANTS, rows = rows }
print(text)
if option("DOCS") then write_docs(text) end
