-- The soak's round of a lock that meets strangers: foreign znodes that are named like contenders. One is created and deleted, one is
-- ephemeral, and one stays in a directory that is not used again.

return function(soak, zk)
  local session, other = soak:session(zk), soak:session()
  local lock = session:lock "/lock"
  local function pass(one)
    for limit = 0, 10, 10 do assert(one:acquire(limit)):release() end
  end
  function soak.rest()
    zk.sleep(30)
    assert(session:usage().watches == 0, "what nobody meets is still watched")
    assert(other:delete_tree "/locks")
  end
  return function(number)
    local path, left = ("/lock/x%d-lock-0000000000"):format(number), ("/locks/%d/x-lock-0000000000"):format(number)
    assert(other:create(path, "", { parents = true }))
    pass(lock)
    assert(other:multi { { "delete", path }, { "create", path, "", { ephemeral = true } } })
    assert(session:sync "/")
    assert(select(3, lock:acquire(0)) == "timeout")
    assert(other:delete(path))
    assert(other:create(left, "", { parents = true }))
    pass(session:lock("/locks/" .. number))
    zk.sleep(0.02)
  end
end
