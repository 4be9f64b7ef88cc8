-- Workspaces.delete in one atomic step. It works where other scripts stop: a workspace that lost a part can be deleted.
local id, version = arg(), number()
if redis.call("EXISTS", unpack(KEYS)) == 0 then return 0 end
local own = redis.call("HMGET", space, "id", "w")
if own[1] and own[1] ~= id then damaged("id names another workspace") end
if count(own[2], "w") ~= version then return 0 end
redis.call("UNLINK", unpack(KEYS))
return 1
