-- Workspaces.replace in one atomic step: other bytes for the bodies of entries, if they are as they were read. An item has its body with the
-- log. Answers how many were replaced.
local id = arg()
openSpace(id)
local replaced = 0
for _, change in ipairs(list(function() return { version = number(), was = arg(), body = arg() } end)) do
  local field = "B" .. digits(change.version)
  local stored = get(field)
  local colon = stored and string.find(stored, ":", 1, true)
  if colon and redis.sha1hex(string.sub(stored, colon + 1)) == change.was then
    redis.call("HSET", space, field, string.sub(stored, 1, colon) .. change.body)
    replaced = replaced + 1
  end
end
return replaced
