-- ThreadTagger.untagThread in one atomic step.
local id = arg()
local meta = open(id)
local goes, kept = {}, ""
for _, tag in ipairs(list(arg)) do goes[tag] = true end
for _, tag in ipairs(readStrings(redis.call("HGET", thread, "g") or "")) do
  if not goes[tag] then kept = kept .. lengthPrefixed(tag) end
end
if meta.exists then redis.call("HSET", thread, "g", kept) end
return 1
