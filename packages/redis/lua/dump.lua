-- All of a thread but its own fields, its tags and what it is a copy of, for ThreadCopier: the copy may belong to another slot, so no command can make it on
-- the server. Nothing is decoded on the way.
local id = arg()
local meta = open(id)
if not meta.exists or meta.heads == 0 then return { 0 } end
local own = { id = 1, rev = 1, del = 1, dead = 1, rem = 1, evi = 1, at = 1, n = 1, nh = 1, pin = 1, flo = 1, era = 1, g = 1 }
local all, found = redis.call("HGETALL", thread), {}
for n = 1, #all, 2 do
  if not own[all[n]] and string.sub(all[n], 1, 1) ~= "k" then
    found[#found + 1] = all[n]
    found[#found + 1] = all[n + 1]
  end
end
return { meta.rev, found }
