-- What setup tries before anybody relies on it: scripts run here, the newest command that is needed (Redis 6.2) is known, and
-- this user may write. KEYS[1] is a key of nobody.
redis.call("ZRANDMEMBER", KEYS[1])
return redis.call("UNLINK", KEYS[1])
