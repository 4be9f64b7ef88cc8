-- A page of Workspaces.itemsAt: goes from address to address, and takes the last entry of each up to the version. Answers as
-- itemNamespaces.lua where the client has to go on.
local id, all, version, limit = arg(), arg() == "1", number(), number()
local ranges = takeRanges()
bodies.all = all
openSpace(id)
local found, looked = {}, 0
for n, range in ipairs(ranges) do
  local from = range[1]
  local entry = redis.call("ZRANGEBYLEX", history, from, range[2], "LIMIT", 0, 1)[1]
  while entry do
    if #found == limit or looked == maxLooked or bodies.bytes > maxBytes then return { found, bodies.named, n, from } end
    looked = looked + 1
    local item = string.sub(entry, 1, -33)
    local last = putAt(item, version)
    if last then found[#found + 1] = { last, body(versionOf(last)) } end
    from = "(" .. item .. ":"
    entry = redis.call("ZRANGEBYLEX", history, from, range[2], "LIMIT", 0, 1)[1]
  end
end
return { found, bodies.named, 0, "" }
