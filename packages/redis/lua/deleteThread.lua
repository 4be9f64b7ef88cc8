-- Tier.deleteThread in one atomic step: everything goes, and a tombstone stays for a while. It stays also for a thread that
-- isn't here: it may have expired or been evicted while a run still writes to it. With a revision, it is deleted only if it
-- is still at that one: UnchangedDeleter.deleteUnchanged.
local id, revision = arg(), tonumber(arg() or "")
local meta = open(id)
if revision and (not meta.exists or meta.rev ~= revision) then return 0 end
bump(meta)
redis.call("UNLINK", thread, index)
redis.call("HSET", thread, "id", id, "rev", meta.rev, "del", meta.rev, "rem", meta.rev, "dead", 1, "flo", meta.floor)
redis.call("PEXPIRE", thread, tombstone)
return meta.rev
