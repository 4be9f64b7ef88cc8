-- The end of ThreadCopier.copyThread in one atomic step: what stage.lua gathered (KEYS[3], KEYS[4]) is renamed to the thread,
-- which takes the same time at any length. Only pending writes that came to the target before any checkpoint are copied field
-- by field. The revision is set above the source's, because write batches are ordered by it.
local id, ttl, revision, fields, records, heads = arg(), number(), number(), number(), number(), number()
local staged, stagedIndex = KEYS[3], KEYS[4]
local own = { id = 1, rev = 1, del = 1, dead = 1, rem = 1, evi = 1, at = 1, n = 1, nh = 1, pin = 1, flo = 1, era = 1, q = 1 }
local meta = open(id)
if meta.heads > 0 then return { "exists", redis.call("HGET", thread, "h") } end
-- A server short of memory may have evicted what was gathered.
if redis.call("HLEN", staged) ~= fields then return { "lost" } end
-- A copy carries the tags of its source, and those that were given to it before.
local tags, has = redis.call("HGET", staged, "g") or "", {}
for _, tag in ipairs(readStrings(tags)) do has[tag] = true end
for _, tag in ipairs(readStrings(redis.call("HGET", thread, "g") or "")) do
  if not has[tag] then tags = tags .. lengthPrefixed(tag) end
end
if tags ~= "" then redis.call("HSET", staged, "g", tags) end
local early = redis.call("HKEYS", thread)
local sourced = {}
for _, field in ipairs(early) do
  if string.sub(field, 1, 1) == "c" and redis.call("HEXISTS", staged, field) == 1 then sourced[field] = true end
end
for _, field in ipairs(early) do
  -- Pending writes of a checkpoint that the source has are numbered there.
  local batchOf = string.match(field, "^w%d+:(.*)$") or string.match(field, "^[co](.*)$")
  local taken = batchOf and sourced["c" .. batchOf]
  if not own[field] and string.sub(field, 1, 1) ~= "k" and not taken then
    local added = redis.call("HSETNX", staged, field, redis.call("HGET", thread, field))
    if string.sub(field, 1, 1) == "r" then
      records = records + added
      redis.call("ZADD", stagedIndex, 0, string.sub(field, 2))
    end
  end
end
redis.call("RENAME", staged, thread)
redis.call("DEL", index)
if redis.call("EXISTS", stagedIndex) == 1 then redis.call("RENAME", stagedIndex, index) end
meta.rev = math.max(meta.rev, revision)
bump(meta)
meta.exists, meta.n, meta.heads = true, records, heads
local due = save(meta, id, true)
redis.call("HSET", thread, "del", meta.del, "rem", meta.rem, "pin", meta.pinned and 1 or 0, "flo", meta.minCopyRevision,
  "era", meta.invalidations)
local stands = stamp(meta, "all", due)
expire(meta, ttl)
return { "ok", due, stands }
