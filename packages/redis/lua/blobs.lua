-- A page of Tier.blobs: hash, base and size of blobs, without their bytes. A script, because a base is in front of the bytes
-- and these needn't leave the server. HSCAN walks one thread's hash, never the keyspace; pruning is its only user. So few
-- fields at once, because their values come along into the script.
local id, cursor = arg(), arg()
if not open(id).exists then return { "0", {} } end
local page = redis.call("HSCAN", thread, cursor, "COUNT", 64)
local found = {}
for n = 1, #page[2], 2 do
  local field, value = page[2][n], page[2][n + 1]
  local kind = string.sub(field, 1, 1)
  if kind == "b" or kind == "B" then
    local base, at = redis.call("HGET", thread, "P" .. string.sub(field, 2)) or "", 1
    if kind == "b" then base, at = text(value, 1) end
    found[#found + 1] = string.sub(field, 2)
    found[#found + 1] = base
    found[#found + 1] = #value - at + 1
  end
end
return { page[1], found }
