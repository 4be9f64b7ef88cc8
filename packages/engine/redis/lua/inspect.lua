-- A page of ThreadInspector.inspect: the thread's own fields, heads, and checkpoints that have pending writes and no record. HSCAN
-- walks one thread's hash, never the keyspace. It works where other scripts stop, so that what is wrong can be told: the first page
-- has the own fields that don't agree with the rest, and the checkpoints of which batches are lost.
local id, cursor = arg(), arg()
local found = cursor == "0" and survey(id) or nil
local own = redis.call("HMGET", thread, "rev", "dead", "evi", "rem")
if redis.call("EXISTS", thread) == 0 then return {} end
local page = redis.call("HSCAN", thread, cursor, "MATCH", "[hc]*", "COUNT", 256)
local heads, strays = {}, {}
for n = 1, #page[2], 2 do
  local kind, name = string.sub(page[2][n], 1, 1), string.sub(page[2][n], 2)
  if kind == "h" then
    heads[#heads + 1] = name
    heads[#heads + 1] = page[2][n + 1]
  elseif page[2][n + 1] ~= "0" and redis.call("HEXISTS", thread, "r" .. name) == 0 then
    strays[#strays + 1] = name
  end
end
local dead = own[2] == "1" and not (found and (found.records > 0 or found.heads > 0))
return { page[1], tonumber(own[1] or 0) or 0, dead and 1 or 0, own[3] == "1" and 1 or 0, tonumber(own[4] or 0) or 0, heads, strays,
  found and found.wrong or {}, found and found.lost or {} }
