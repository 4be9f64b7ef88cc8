-- Tells setup whether the server runs scripts, knows the newest command that is needed (of Redis 6.2), and lets this user
-- write. No thread uses KEYS[1].
redis.call("ZRANDMEMBER", KEYS[1])
return redis.call("UNLINK", KEYS[1])
