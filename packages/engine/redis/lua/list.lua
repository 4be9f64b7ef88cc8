-- One page of Tier.list: walks the sorted set from the newest id down, and answers matching records with their writes,
-- heads and blobs. It is a script because filters and patch chains depend on the records. A page is bounded in keys walked and
-- in bytes, so that no listing holds up the server.
local id, ttl, max, min, limit, bare, lost = arg(), number(), arg(), arg(), number(), arg() == "1", arg() == "1"
local namespace = list(arg)[1]
local terms = list(arg)
local runs, anyRun = {}, true
for _, run in ipairs(list(arg)) do
  runs["+" .. run] = true
  anyRun = false
end
local maxEntries, maxBytes = 1000, 4194304

local meta = open(id)
if not meta.exists then return { 0 } end
if redis.call("ZCARD", index) ~= meta.n then
  redis.call("DEL", index)
  for _, field in ipairs(redis.call("HKEYS", thread)) do
    if string.sub(field, 1, 1) == "r" and field ~= "rev" and field ~= "rem" then
      redis.call("ZADD", index, 0, string.sub(field, 2))
    end
  end
  local left = redis.call("PTTL", thread)
  if left > 0 then redis.call("PEXPIRE", index, left) end
end
refresh(meta, ttl)

local function matches(value)
  local lostTo, at = readString(value, 1)
  if lost and lostTo == "" then return false end
  local record = parseRecord(value, at)
  if not anyRun and not runs[record.run] then return false end
  for _, term in ipairs(terms) do
    if not string.find(record.terms, "," .. term .. ",", 1, true) then return false end
  end
  return true
end

local heads, items, blobs, size, last = {}, {}, collector(), 0, false
local keys = redis.call("ZREVRANGEBYLEX", index, max, min, "LIMIT", 0, maxEntries)
local more = #keys == maxEntries
for n, key in ipairs(keys) do
  local ns = string.sub(key, select(2, string.find(key, separator, 1, true)) + 1)
  last = key
  if namespace == nil or ns == namespace then
    local value = get("r" .. key)
    if value and matches(value) then
      if heads[ns] == nil then heads[ns] = redis.call("HGET", thread, "h" .. ns) end
      if not bare then
        local _, at = readString(value, 1)
        collect(blobs, parseRecord(value, at).blobs)
      end
      items[#items + 1] = { key, value, heads[ns], batches(key, not bare and blobs or nil) }
      size = size + #value
      if #items == limit or size + blobs.bytes > maxBytes then
        more = more or n < #keys
        break
      end
    end
  end
end
return { more and 1 or 0, items, blobs.found, blobs.large, last }
