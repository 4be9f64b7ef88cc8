-- A step of Workspaces.trim: looks at entries from a version on, and removes those that say nothing of items as they were at the version
-- or later. Answers how many were removed, whether that was all, and the last version that was looked at.
local id, version, after, most = arg(), number(), number(), number()
local s = openSpace(id)
if not s.exists then return { 0, 1, "0" } end
version = math.min(version, s.w)
local entries = redis.call("ZRANGEBYSCORE", log, "(" .. digits(after), digits(version), "LIMIT", 0, maxLooked)
local removed, isAll, looked = 0, #entries < maxLooked, after
for _, entry in ipairs(entries) do
  looked = versionOf(entry)
  if string.sub(entry, 1, 1) == "m" or putAt(string.sub(entry, 1, -33), version) ~= entry then
    -- An item that still has the body has expired.
    local address = string.sub(entry, 2, -34)
    local item = itemAt(address)
    if item and item.version == looked then removeItem(s, address, item) end
    redis.call("HDEL", space, "B" .. digits(looked), "E" .. digits(looked))
    redis.call("ZREM", log, entry)
    redis.call("ZREM", history, entry)
    s.l, removed = s.l - 1, removed + 1
    if removed == most then
      isAll = true
      break
    end
  end
end
s.t = math.max(s.t, version)
saveSpace(s)
return { removed, isAll and 1 or 0, digits(looked) }
