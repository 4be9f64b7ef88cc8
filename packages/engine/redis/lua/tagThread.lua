-- ThreadTagger.tagThread in one atomic step. The thread needn't exist yet. Its revision doesn't change.
local id, ttl = arg(), number()
local meta = open(id)
local tags = redis.call("HGET", thread, "g") or ""
local has = {}
for _, tag in ipairs(readStrings(tags)) do has[tag] = true end
for _, tag in ipairs(list(arg)) do
  if not has[tag] then tags = tags .. lengthPrefixed(tag) end
end
-- If the hash alone was evicted, the sorted set still names records that are gone.
if not meta.exists then redis.call("DEL", index) end
redis.call("HSET", thread, "id", id, "g", tags)
-- A tombstone must not expire before the checkpoint that the writer of these tags stores next.
if not meta.exists or meta.dead then expire(meta, ttl) end
return meta.rev
