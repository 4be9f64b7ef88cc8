-- LeaseKeeper.lease: takes, prolongs or gives back the lease KEYS[1]. A script, because who has it is compared and set at
-- once.
local holder, forMs = ARGV[1], tonumber(ARGV[2])
local held = redis.call("GET", KEYS[1])
if held and held ~= holder then return 0 end
if forMs > 0 then redis.call("SET", KEYS[1], holder, "PX", forMs) else redis.call("DEL", KEYS[1]) end
return 1
