-- CacheStorage.read: ARGV has group and id by turns. Answers era, value (or false) and remaining milliseconds (or "") of each. Noting the
-- use may fail, on a full server or a replica, and nothing else does then.
local reply = {}
for n = 1, #ARGV, 2 do
  local member = ARGV[n] .. ARGV[n + 1]
  local stored = redis.call("HGET", entries, member)
  local expires, value = string.match(stored or "", "^(%d*):(.*)$")
  local left = expires and expires ~= "" and tonumber(expires) - nowMs or ""
  reply[#reply + 1] = eraOf(ARGV[n])
  if value and (left == "" or left > 0) then
    redis.pcall("ZADD", used, digits(nowUs), member)
    reply[#reply + 1] = value
  else
    reply[#reply + 1] = false
  end
  reply[#reply + 1] = tostring(left)
end
return reply
