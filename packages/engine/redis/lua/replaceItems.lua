-- Items.replace in one atomic step: other bytes for the values of items that still have the versions at which they were read. What
-- precedes the value in a body stays. Answers how many were replaced.
local id = arg()
openSpace(id)
local replaced = 0
for _, change in ipairs(list(function() return { address = arg(), version = number(), value = arg() } end)) do
  local item = itemAt(change.address)
  if item and item.version == change.version then
    local field = "B" .. digits(item.version)
    local stored = get(field)
    if not stored then damaged(field .. " isn't there") end
    local _, at = readString(stored, string.find(stored, ":", 1, true) + 1)
    redis.call("HSET", thread, field, string.sub(stored, 1, at - 1) .. change.value)
    redis.call("HDEL", thread, "V" .. digits(item.version))
    replaced = replaced + 1
  end
end
return replaced
