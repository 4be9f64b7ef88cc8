-- ThreadTagger.tagThread in one atomic step. The thread need not be here yet; its revision stays.
local id, ttl = arg(), number()
local meta = open(id)
local tags = redis.call("HGET", thread, "g") or ""
local has = {}
for _, tag in ipairs(texts(tags)) do has[tag] = true end
for _, tag in ipairs(list(arg)) do
  if not has[tag] then tags = tags .. asText(tag) end
end
-- Where the hash was evicted alone, the sorted set would still name what is gone.
if not meta.exists then redis.call("DEL", index) end
redis.call("HSET", thread, "id", id, "g", tags)
-- A tombstone must not end between these tags and their writer's checkpoint.
if not meta.exists or meta.dead then expire(meta, ttl) end
return meta.rev
