-- CacheStorage.write: group, id, era (or ""), 1 if there is a value, the value, time to live in ms (or ""), most entries, most bytes.
-- Removes at most ten entries that have expired, and those that were used longest ago while there are too many.
local group, era, hasValue, value, ttl = ARGV[1], ARGV[3], ARGV[4] == "1", ARGV[5], tonumber(ARGV[6])
local maxEntries, maxBytes = tonumber(ARGV[7]), tonumber(ARGV[8])
if era ~= "" and era ~= eraOf(group) then return 0 end
local member = group .. ARGV[2]
remove(member)
if not hasValue then return 1 end
if #value > maxBytes then return 0 end
local expires = ttl and nowMs + math.ceil(ttl)
local field = (expires and digits(expires) or "") .. ":" .. value
redis.call("HSET", entries, member, field)
redis.call("ZADD", used, digits(nowUs), member)
redis.call("ZADD", expiring, expires and digits(expires) or "inf", member)
redis.call("ZADD", names, 0, member)
redis.call("HINCRBY", meta, "b", #field)
for _, gone in ipairs(redis.call("ZRANGEBYSCORE", expiring, "-inf", digits(nowMs), "LIMIT", 0, 10)) do remove(gone) end
for _ = 1, mostRemoved do
  local count, bytes = redis.call("HLEN", entries), tonumber(redis.call("HGET", meta, "b"))
  -- The bytes of the times don't count.
  if count <= maxEntries and bytes - count * 14 <= maxBytes then break end
  local oldest = redis.call("ZRANGE", used, 0, 1)
  remove(oldest[1] == member and oldest[2] or oldest[1])
end
return 1
