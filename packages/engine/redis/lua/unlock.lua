-- LockKeeper.unlock: gives back the lock KEYS[1], if this holder has it.
if redis.call("HGET", KEYS[1], "holder") ~= ARGV[1] then return 0 end
redis.call("HSET", KEYS[1], "until", 0)
return 1
