-- Takes a thread that is gone out of the index of all threads (KEYS[1]), unless it was written again since it was looked up.
local score = redis.call("ZSCORE", KEYS[1], ARGV[1])
if score and tonumber(score) == tonumber(ARGV[2]) then return redis.call("ZREM", KEYS[1], ARGV[1]) end
return 0
