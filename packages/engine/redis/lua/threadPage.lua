-- A page of the index of all threads (KEYS[1]), after a given thread. It is a script because that thread may have been written
-- since, and so have moved in the order: then the page begins at its old place.
local newest, max, size, after, score = ARGV[1] == "1", ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local all = KEYS[1]
local first = 0
if score ~= "" then
  local now = redis.call("ZSCORE", all, after)
  if now and tonumber(now) == tonumber(score) then
    first = redis.call(newest and "ZREVRANK" or "ZRANK", all, after) + 1
  elseif newest then
    first = redis.call("ZCOUNT", all, "(" .. score, "+inf")
  else
    first = redis.call("ZCOUNT", all, "-inf", "(" .. score)
  end
elseif newest and max ~= "" then
  first = redis.call("ZCOUNT", all, max, "+inf")
end
return redis.call(newest and "ZREVRANGE" or "ZRANGE", all, first, first + size - 1, "WITHSCORES")
