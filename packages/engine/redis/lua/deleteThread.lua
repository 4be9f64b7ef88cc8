-- Tier.deleteThread in one atomic step: deletes everything and leaves a tombstone for a while. A thread that isn't here gets
-- one too: it may have expired or been evicted while a run still writes to it. With a revision, the thread is deleted only if
-- it is still at that revision (UnchangedDeleter.deleteUnchanged). Answers the deleted tags, for their index; 0 if nothing was done.
local id, revision = arg(), tonumber(arg() or "")
local whole, meta = pcall(open, id)
if not whole then
  -- What can't be read can still be deleted, though not as unchanged, and not what may be another thread.
  if (redis.call("HGET", thread, "id") or id) ~= id then error(meta) end
  if revision then return 0 end
  meta = { exists = true, rev = nowUs(), minCopyRevision = 0 }
end
if revision and (not meta.exists or meta.rev ~= revision) then return 0 end
local tags = redis.call("HGET", thread, "g")
bump(meta)
redis.call("UNLINK", thread, index)
redis.call("HSET", thread, "id", id, "rev", meta.rev, "del", meta.rev, "rem", meta.rev, "dead", 1, "flo", meta.minCopyRevision)
redis.call("PEXPIRE", thread, tombstone)
local known, names = pcall(readStrings, tags or "")
return known and names or {}
