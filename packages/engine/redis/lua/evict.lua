-- Tier.evict in one atomic step: keeps heads and the thread's own fields, and drops the rest, if nobody has written since
-- `revision`. The hash is unlinked, which frees it in the background, and what is kept is written again.
local id, revision = arg(), number()
local meta = open(id)
if not meta.exists or meta.rev ~= revision then return 0 end
bump(meta)
local left = redis.call("PTTL", thread)
local kept = { "id", id, "rev", meta.rev, "del", meta.del, "dead", meta.dead and 1 or 0, "rem", meta.rev, "at", meta.at,
  "nh", meta.heads, "pin", meta.pinned and 1 or 0, "evi", 1, "flo", meta.minCopyRevision, "era", meta.invalidations }
local tags = redis.call("HGET", thread, "g")
local stands = string.match(redis.call("HGET", thread, "q") or "", "^" .. string.format("%.0f", meta.revBefore) .. ":(.)$")
-- HSCAN rather than HKEYS: only the fields of heads, which are few, are copied into the script.
local heads, cursor = {}, "0"
repeat
  local page = redis.call("HSCAN", thread, cursor, "MATCH", "h*", "COUNT", 1000)
  cursor = page[1]
  for _, part in ipairs(page[2]) do heads[#heads + 1] = part end
until cursor == "0"
redis.call("UNLINK", thread, index)
redis.call("HSET", thread, unpack(kept))
if stands then redis.call("HSET", thread, "q", string.format("%.0f:%s", meta.rev, stands)) end
if tags then redis.call("HSET", thread, "g", tags) end
for n = 1, #heads, 2 do redis.call("HSET", thread, heads[n], heads[n + 1]) end
if left > 0 then redis.call("PEXPIRE", thread, left) end
return 1
