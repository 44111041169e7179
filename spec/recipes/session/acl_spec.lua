-- ACLs on a real server: who may do what.
-- Tags: sanitize

local zk = require "zkrecipes"
local env = require "spec.support.env"
local run, fails = env.run, env.fails

describe("ACLs", function()
  it("keep strangers out", run(function()
    local namespace = env.namespace()
    local owner = env.session { namespace = namespace, acl = "creator",
      auth = { { scheme = "digest", credential = "ann:secret" } } }
    assert(owner:create("/private", "x", { acl = "creator", parents = true }))
    local acl, stat = assert(owner:get_acl("/private"))
    assert.are.same({ "rwcda", "digest" }, { acl[1].perms, acl[1].scheme })
    assert.are.equal(0, stat.aversion)
    local stranger = env.session { namespace = namespace }
    fails("no_auth", stranger:get("/private"))
    fails("no_auth", stranger:create(namespace)) -- the namespace's znode has the owner's ACL too
    assert.is_true(stranger:add_auth("digest", "ann:secret"))
    assert.are.equal("x", (stranger:get("/private")))
    assert.is_true(owner:set_acl("/private", "read"))
    fails("no_auth", owner:set("/private", "y"))
    assert.are.equal("x", (stranger:get("/private")))
    assert(owner:create("/listed", "", { acl = { { perms = "rd", scheme = "world", id = "anyone" },
      { perms = "a", scheme = "auth", id = "" } } }))
    assert.are.equal(2, #owner:get_acl("/listed"))
    local anonymous = env.session { namespace = env.namespace(), acl = "creator" }
    fails("invalid_acl", anonymous:create("/", ""))
  end))

  it("let others in, by names", run(function()
    local namespace = env.namespace()
    local owner = env.session { namespace = namespace, auth = { { scheme = "digest", credential = "ann:secret" } } }
    assert(owner:create("/shared", "x", { parents = true, acl = { "creator",
      { perms = { "read", "write" }, scheme = "digest", id = zk.digest("bob", "his:secret") },
      { perms = "r", scheme = "ip", id = "192.0.2.0/24" } } }))
    local bob = env.session { namespace = namespace }
    fails("no_auth", bob:get("/shared"))
    assert.is_true(bob:add_auth("digest", "bob:his:secret"))
    assert(bob:set("/shared", "y"))
    fails("no_auth", bob:set_acl("/shared", "open"))
    assert.are.same({ perms = "r", scheme = "ip", id = "192.0.2.0/24" }, owner:get_acl("/shared")[3])
    assert.is_true(owner:set_acl("/shared", (owner:get_acl("/shared"))))
    -- The server does not show the hashes to bob: with such an ACL nobody could do anything.
    env.raises("entry 1, option 'id': 'user:hash' expected", bob.set_acl, bob, "/shared", (bob:get_acl("/shared")))
    assert.is_true(owner:set_acl("/shared", { "read", "creator" }))
    fails("no_auth", bob:set("/shared", "z"))
    assert.are.equal("y", (bob:get("/shared")))
    assert(owner:delete("/shared"))
  end))
end)
