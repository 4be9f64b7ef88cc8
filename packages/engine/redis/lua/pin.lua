-- Pins a thread, or lets it expire again: the field and the expiry of both keys change together.
local id, ttl, pinned = arg(), number(), arg() == "1"
local meta = open(id)
if not meta.exists or meta.dead then return 0 end
meta.pinned = pinned
redis.call("HSET", thread, "pin", pinned and 1 or 0)
expire(meta, ttl)
return 1
