-- A page of Tier.blobs: hash, base and size of blobs, without their bytes. It is a script because a blob's base precedes its
-- bytes in the field, and the bytes needn't leave the server. HSCAN walks one thread's hash, never the keyspace. Only pruning
-- uses it. A page has few fields because HSCAN copies their values into the script.
local id, cursor = arg(), arg()
if not open(id).exists then return { "0", {} } end
local page = redis.call("HSCAN", thread, cursor, "COUNT", 64)
local found = {}
for n = 1, #page[2], 2 do
  local field, value = page[2][n], page[2][n + 1]
  local kind = string.sub(field, 1, 1)
  if kind == "b" or kind == "B" then
    local base, at = redis.call("HGET", thread, "P" .. string.sub(field, 2)) or "", 1
    if kind == "b" then base, at = readString(value, 1) end
    found[#found + 1] = string.sub(field, 2)
    found[#found + 1] = base
    found[#found + 1] = #value - at + 1
  end
end
return { page[1], found }
