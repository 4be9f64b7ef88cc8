-- Tier.evict in one atomic step: keeps heads and the thread's own fields, if nobody wrote since `revision`. What stays is
-- written anew and the rest freed by UNLINK, in the background.
local id, revision = arg(), number()
local meta = open(id)
if not meta.exists or meta.rev ~= revision then return 0 end
bump(meta)
local left = redis.call("PTTL", thread)
local kept = { "id", id, "rev", meta.rev, "del", meta.del, "dead", meta.dead and 1 or 0, "rem", meta.rev, "at", meta.at,
  "nh", meta.heads, "pin", meta.pinned and 1 or 0, "evi", 1, "flo", meta.floor, "era", meta.era }
local tags = redis.call("HGET", thread, "g")
-- By HSCAN and not by HKEYS: only the names of heads become values of the script, and a thread has few of them.
local heads, cursor = {}, "0"
repeat
  local page = redis.call("HSCAN", thread, cursor, "MATCH", "h*", "COUNT", 1000)
  cursor = page[1]
  for _, part in ipairs(page[2]) do heads[#heads + 1] = part end
until cursor == "0"
redis.call("UNLINK", thread, index)
redis.call("HSET", thread, unpack(kept))
if tags then redis.call("HSET", thread, "g", tags) end
for n = 1, #heads, 2 do redis.call("HSET", thread, heads[n], heads[n + 1]) end
if left > 0 then redis.call("PEXPIRE", thread, left) end
return 1
