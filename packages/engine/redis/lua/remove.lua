-- Tier.remove in one atomic step: only if the thread is still at the revision that the decision was based on.
local id, revision = arg(), number()
local keys, drops = list(arg), list(arg)
local replaced = list(takeBlob)
local heads = list(function() return { namespace = arg(), to = arg() } end)

local meta = open(id)
if not meta.exists or meta.rev ~= revision then return "0" end
bump(meta)
-- Delete first: a full server refuses a first write that needs memory, and accepts one that frees it.
for _, key in ipairs(keys) do
  meta.n = meta.n - redis.call("HDEL", thread, "r" .. key)
  redis.call("ZREM", index, key)
  local n, many = 0, count(redis.call("HGET", thread, "c" .. key), "c" .. key)
  repeat n = n + 1 until redis.call("HDEL", thread, "w" .. n .. ":" .. key) == 0 and n >= many
  redis.call("HDEL", thread, "c" .. key, "o" .. key)
end
for _, hash in ipairs(drops) do drop(hash) end
for _, blob in ipairs(replaced) do
  drop(blob.hash)
  store(blob)
end
for _, move in ipairs(heads) do
  if move.to == "" then
    meta.heads = meta.heads - redis.call("HDEL", thread, "h" .. move.namespace)
  else
    meta.heads = meta.heads + redis.call("HSET", thread, "h" .. move.namespace, move.to)
  end
end
redis.call("HSET", thread, "rev", meta.rev, "rem", meta.rev, "n", meta.n, "nh", meta.heads)
return "1" .. stamp(meta, "all", 0)
