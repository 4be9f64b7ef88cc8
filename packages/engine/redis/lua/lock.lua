-- LockKeeper.lock: takes or prolongs the lock KEYS[1], or tells who has it. The server's clock decides. A lock that was given back stays
-- for a day, so that its next holder's token is larger, also if the clock goes back.
local holder, forMs = ARGV[1], tonumber(ARGV[2])
local time = redis.call("TIME")
local nowUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local held = redis.call("HMGET", KEYS[1], "holder", "token", "since", "until")
local isMine = held[1] == holder
if held[1] and not isMine and tonumber(held[4]) > nowUs then return { 0, held[1], held[2], held[3] } end
local token, sinceMs = held[2], held[3]
if not isMine then
  -- Numbers of this size would lose digits as Lua writes them by itself.
  token = string.format("%.0f", math.max(nowUs, tonumber(held[2] or 0) + 1))
  sinceMs = string.format("%.0f", math.floor(nowUs / 1000))
end
redis.call("HSET", KEYS[1], "holder", holder, "token", token, "since", sinceMs, "until", string.format("%.0f", nowUs + forMs * 1000))
redis.call("PEXPIRE", KEYS[1], forMs + tonumber(ARGV[3]))
return { 1, holder, token, sinceMs }
