-- The bodies of log entries, by their versions. Those of entries that were removed are left out. Answers also up to which version that was.
local id, all = arg(), arg() == "1"
bodies.all = all
local s = openSpace(id)
local found = {}
for _, version in ipairs(list(number)) do
  local entry = redis.call("ZRANGEBYSCORE", log, digits(version), digits(version))[1]
  if entry then found[#found + 1] = { entry, body(version) } end
end
return { found, bodies.named, digits(s.t) }
