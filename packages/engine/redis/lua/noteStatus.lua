-- StatusKeeper.noteStatus in one atomic step: keeps how a thread stands, if it is still at the revision that this was found at.
local id, revision, letter = arg(), number(), arg()
local meta = open(id)
if not meta.exists or meta.rev ~= revision then return "" end
redis.call("HSET", thread, "q", string.format("%.0f:%s", meta.rev, letter))
return letter .. string.format("%.0f", meta.at)
