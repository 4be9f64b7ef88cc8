-- LeaseKeeper.lease: takes, prolongs or gives back the lease KEYS[1]. It is a script because the holder is changed by
-- compare-and-set.
local holder, forMs = ARGV[1], tonumber(ARGV[2])
local held = redis.call("GET", KEYS[1])
if held and held ~= holder then return 0 end
if forMs > 0 then redis.call("SET", KEYS[1], holder, "PX", forMs) else redis.call("DEL", KEYS[1]) end
return 1
