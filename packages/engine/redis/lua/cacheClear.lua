-- CacheStorage.clear: without an argument everything, otherwise entries of a group, at most 500. Answers 1 if there may be more.
local group = ARGV[1]
if not group then
  clearAll()
  return 0
end
redis.call("HSET", meta, "g" .. group, digits(nowUs))
if redis.call("HEXISTS", meta, "b") == 0 then redis.call("HSET", meta, "b", 0) end
local found = redis.call("ZRANGEBYLEX", names, "[" .. group, "(" .. group .. "g", "LIMIT", 0, mostRemoved)
for _, member in ipairs(found) do remove(member) end
return #found == mostRemoved and 1 or 0
