-- A page of ThreadInspector.inspect: the thread's own fields, heads, and checkpoints that have pending writes and no record. HSCAN
-- walks one thread's hash, never the keyspace.
local id, cursor = arg(), arg()
local meta = open(id)
if not meta.exists then return {} end
local page = redis.call("HSCAN", thread, cursor, "MATCH", "[hc]*", "COUNT", 256)
local heads, strays = {}, {}
for n = 1, #page[2], 2 do
  local kind, name = string.sub(page[2][n], 1, 1), string.sub(page[2][n], 2)
  if kind == "h" then
    heads[#heads + 1] = name
    heads[#heads + 1] = page[2][n + 1]
  elseif tonumber(page[2][n + 1]) > 0 and redis.call("HEXISTS", thread, "r" .. name) == 0 then
    strays[#strays + 1] = name
  end
end
return { page[1], meta.rev, meta.dead and 1 or 0, meta.evicted and 1 or 0, meta.rem, heads, strays }
