-- A page of Items.search, newest change first. There are two ways, and the counts of both decide: all items below the prefixes, sorted;
-- or all items from the newest on, of which those below a prefix are taken. Answers 0 if that was all, 1 if the page is full, and 2 if
-- enough was looked at: then the client goes on from the version that is answered. No prefixes: all items of the space.
local id, all, after, before, limit = arg(), arg() == "1", number(), number(), number()
local prefixes, ranges = list(arg), takeRanges()
bodies.all = all
local s = openSpace(id)
local found = {}

-- Returns whether the page is full.
local function take(address)
  local item = itemAt(address)
  if not item then damaged("an item isn't there") end
  if not isLive(item) then return false end
  found[#found + 1] = { address, item.header, body(item.version) }
  return #found == limit or bodies.bytes > maxBytes
end

local function isBelow(address)
  if #prefixes == 0 then return true end
  for _, prefix in ipairs(prefixes) do
    if string.sub(address, 1, #prefix) == prefix then
      local first, second = string.byte(address, #prefix + 1, #prefix + 2)
      if first == 0 or second ~= 0 then return true end
    end
  end
  return false
end

local below = countIn(order, ranges)
local from = "(" .. digits(after)
local inWindow = redis.call("ZCOUNT", newest, from, "(" .. digits(before))
local seen = before

local function fromNewest()
  local looked = 0
  repeat
    local page = redis.call("ZREVRANGEBYSCORE", newest, "(" .. digits(seen), from, "WITHSCORES", "LIMIT", 0, 100)
    for n = 1, #page, 2 do
      looked, seen = looked + 1, tonumber(page[n + 1])
      if isBelow(page[n]) and take(page[n]) then return 1 end
    end
    if #page < 200 then return 0 end
  until looked >= maxLooked
  return 2
end

local function fromPrefixes()
  local matching = {}
  for _, range in ipairs(ranges) do
    local addresses = redis.call("ZRANGEBYLEX", order, range[1], range[2])
    local versions = #addresses > 0 and redis.call("ZMSCORE", newest, unpack(addresses))
    for n, address in ipairs(addresses) do
      local version = tonumber(versions[n] or damaged("an item isn't there"))
      if version > after and version < seen then matching[#matching + 1] = { version, address } end
    end
  end
  table.sort(matching, function(one, other) return one[1] > other[1] end)
  for _, item in ipairs(matching) do
    if take(item[2]) then return 1 end
  end
  return 0
end

local state = 0
if below > 0 and inWindow > 0 then
  local isFew = below <= maxLooked
  state = isFew and below * below <= inWindow * limit and 3 or fromNewest()
  if isFew and state > 1 then state = fromPrefixes() end
end
return { state, found, bodies.named, digits(seen), below, digits(s.v) }
