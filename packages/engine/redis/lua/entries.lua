-- The bodies of log entries, by their versions. Those of entries that were removed are left out.
local id, all = arg(), arg() == "1"
bodies.all = all
openSpace(id)
local found = {}
for _, version in ipairs(list(number)) do
  local entry = redis.call("ZRANGEBYSCORE", log, digits(version), digits(version))[1]
  if entry then found[#found + 1] = { entry, body(version) } end
end
return { found, bodies.named }
