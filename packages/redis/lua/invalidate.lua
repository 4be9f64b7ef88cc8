-- CopyKeeper.invalidate in one atomic step: the copies of all namespaces are of a past era now, whose number is compared
-- when they are read.
local id, ttl, before = arg(), number(), number()
local meta = open(id)
if not meta.exists and before == 0 then return 0 end
redis.call("HSET", thread, "id", id, "flo", math.max(meta.floor, before), "era", meta.era + 1)
expire(meta, ttl)
return 1
