-- Removes a thread that is gone from an index (KEYS[1]: of all threads, or of a tag), unless its score changed since it was
-- looked up: then it was written again.
local score = redis.call("ZSCORE", KEYS[1], ARGV[1])
if score and tonumber(score) == tonumber(ARGV[2]) then return redis.call("ZREM", KEYS[1], ARGV[1]) end
return 0
