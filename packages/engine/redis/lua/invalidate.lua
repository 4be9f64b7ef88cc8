-- CopyKeeper.invalidate in one atomic step: increments the thread's count of invalidations. Copies that were adopted under a
-- lower count aren't trusted any more.
local id, ttl, before = arg(), number(), number()
local meta = open(id)
if not meta.exists and before == 0 then return 0 end
redis.call("HSET", thread, "id", id, "flo", math.max(meta.minCopyRevision, before), "era", meta.invalidations + 1)
expire(meta, ttl)
return 1
