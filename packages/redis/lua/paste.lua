-- The other half of ThreadCopier: puts what dump.lua took into another thread, in one atomic step. The revision goes past
-- the source's, as the orders of its write batches count by it.
local id, ttl, revision = arg(), number(), number()
local meta = open(id)
meta.rev = math.max(meta.rev, revision)
bump(meta)
local due = save(meta, id, true)
for _ = 1, number() do
  local field, value = arg(), arg()
  local added = redis.call("HSET", thread, field, value)
  local kind = string.sub(field, 1, 1)
  if kind == "r" then
    meta.n = meta.n + added
    redis.call("ZADD", index, 0, string.sub(field, 2))
  elseif kind == "h" then
    meta.heads = meta.heads + added
  end
end
redis.call("HSET", thread, "n", meta.n, "nh", meta.heads)
expire(meta, ttl)
return due
