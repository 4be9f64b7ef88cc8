-- CopyKeeper.adopt in one atomic step: stores the owner's head and pending writes of a namespace, unless a later revision
-- of the owner is known here.
local id, ttl, namespace, revision, untilMs = arg(), number(), arg(), number(), number()
local head, record = list(arg)[1], list(function() return { key = arg(), lost = arg(), value = arg() } end)[1]
local blobs, writes = list(takeBlob), list(arg)

local meta = open(id)
local known = adopted(meta, namespace)
if revision < math.max(meta.minCopyRevision, known and tonumber(known.revision) or 0) then return 0 end
bump(meta)
local key = head and head .. separator .. namespace
local stored = record and redis.call("HEXISTS", thread, "r" .. record.key)
if stored == 0 then meta.n = meta.n + 1 end
local headed = redis.call("HEXISTS", thread, "h" .. namespace)
meta.heads = meta.heads + (head and 1 or 0) - headed
local due = save(meta, id, head ~= nil)
addBlobs(blobs)
if record then
  redis.call("HSET", thread, "r" .. record.key, lengthPrefixed(record.lost) .. record.value)
  redis.call("ZADD", index, 0, record.key)
end
if head then
  redis.call("HSET", thread, "h" .. namespace, head)
  local n, many = 0, tonumber(redis.call("HGET", thread, "c" .. key)) or 0
  repeat n = n + 1 until redis.call("HDEL", thread, "w" .. n .. ":" .. key) == 0 and n >= many
  redis.call("HSET", thread, "c" .. key, #writes)
  for n, value in ipairs(writes) do redis.call("HSET", thread, "w" .. n .. ":" .. key, value) end
else
  redis.call("HDEL", thread, "h" .. namespace)
end
redis.call("HSET", thread, "k" .. namespace, string.format("%.0f:%.0f:%.0f:%.0f", revision, untilMs, meta.invalidations, meta.rem))
expire(meta, ttl)
return due
