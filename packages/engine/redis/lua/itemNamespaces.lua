-- A page of Items.namespaces: goes from the first live item of a namespace to the next namespace. Answers also from which range on, and
-- from where in it, the client has to go on; 0 if nowhere.
local id, limit = arg(), number()
local ranges = takeRanges()
openSpace(id)

local function pathOf(address)
  local at = 1
  while string.byte(address, at) == 1 do at = string.find(address, "\0", at, true) + 1 end
  return string.sub(address, 1, at - 1)
end

local found, looked = {}, 0
for n, range in ipairs(ranges) do
  local from = range[1]
  local address = redis.call("ZRANGEBYLEX", order, from, range[2], "LIMIT", 0, 1)[1]
  while address do
    if #found == limit or looked == maxLooked then return { found, n, from } end
    looked = looked + 1
    local path = pathOf(address)
    if isLive(itemAt(address)) then
      found[#found + 1] = path
      from = "[" .. path .. "\1"
    else
      from = "(" .. address
    end
    address = redis.call("ZRANGEBYLEX", order, from, range[2], "LIMIT", 0, 1)[1]
  end
end
return { found, 0, "" }
