-- A page of Workspaces.log. There are two ways, as in searchItems.lua, and the states that are answered are the same. The entries of one
-- key are a range by themselves. Answers also the state of the workspace.
local id, all, after, before, untilMs = arg(), arg() == "1", number(), number(), tonumber(arg())
local isReversed, limit, key = arg() == "1", number(), arg()
local prefixes, ranges = list(arg), takeRanges()
bodies.all = all
local s = openSpace(id)

-- Times never go back from one entry to the next, so a time is a version.
if untilMs then
  local first, last = 0, s.l
  while first < last do
    local middle = math.floor((first + last) / 2)
    local entry = redis.call("ZRANGE", log, middle, middle)[1]
    if tonumber(string.sub(entry, -16, -2)) <= untilMs then first = middle + 1 else last = middle end
  end
  local later = redis.call("ZRANGE", log, first, first)[1]
  if later then before = math.min(before, versionOf(later)) end
end

local found = {}
local seen = isReversed and before or after

-- Returns whether the page is full.
local function take(entry)
  found[#found + 1] = { entry, body(versionOf(entry)) }
  seen = versionOf(entry)
  return #found == limit or bodies.bytes > maxBytes
end

local function sorted(entries)
  table.sort(entries, function(one, other)
    if isReversed then return versionOf(one) > versionOf(other) end
    return versionOf(one) < versionOf(other)
  end)
  return entries
end

local function ofKey()
  local entries, most = {}, math.min(limit, maxLooked)
  local isCut = false
  for _, class in ipairs({ "i", "m" }) do
    local min, max = "[" .. class .. key .. "\0" .. padded(after + 1), "(" .. class .. key .. "\0" .. padded(before)
    local some = isReversed and redis.call("ZREVRANGEBYLEX", history, max, min, "LIMIT", 0, most)
      or redis.call("ZRANGEBYLEX", history, min, max, "LIMIT", 0, most)
    isCut = isCut or #some == most
    for _, entry in ipairs(some) do entries[#entries + 1] = entry end
  end
  for n, entry in ipairs(sorted(entries)) do
    if take(entry) then return 1 end
    if n == most then return 2 end
  end
  return isCut and 2 or 0
end

local function isBelow(entry)
  for _, prefix in ipairs(prefixes) do
    if string.sub(entry, 2, 1 + #prefix) == prefix then return true end
  end
  return false
end

local function fromEnd()
  local looked = 0
  repeat
    local page = isReversed and redis.call("ZREVRANGEBYSCORE", log, "(" .. digits(seen), "(" .. digits(after), "LIMIT", 0, 100)
      or redis.call("ZRANGEBYSCORE", log, "(" .. digits(seen), "(" .. digits(before), "LIMIT", 0, 100)
    for _, entry in ipairs(page) do
      looked, seen = looked + 1, versionOf(entry)
      if isBelow(entry) and take(entry) then return 1 end
    end
    if #page < 100 then return 0 end
  until looked >= maxLooked
  return 2
end

local function fromPrefixes()
  local matching = {}
  local from, to = isReversed and after or seen, isReversed and seen or before
  for _, range in ipairs(ranges) do
    for _, entry in ipairs(redis.call("ZRANGEBYLEX", history, range[1], range[2])) do
      local version = versionOf(entry)
      if version > from and version < to then matching[#matching + 1] = entry end
    end
  end
  for _, entry in ipairs(sorted(matching)) do
    if take(entry) then return 1 end
  end
  return 0
end

local state, below = 0, 0
if key ~= "" then state = ofKey()
else
  below = countIn(history, ranges)
  local inWindow = redis.call("ZCOUNT", log, "(" .. digits(after), "(" .. digits(before))
  if below > 0 and inWindow > 0 then
    local isFew = below <= maxLooked
    state = isFew and below * below <= inWindow * limit and 3 or fromEnd()
    if isFew and state > 1 then state = fromPrefixes() end
  end
end
local last = redis.call("ZREVRANGE", log, 0, 0)[1]
local at = last and versionOf(last) == s.w and string.sub(last, -16, -2) or digits(s.at)
local read = redis.call("ZREVRANGEBYSCORE", log, digits(after), "-inf", "LIMIT", 0, 1)[1]
return { state, found, bodies.named, digits(seen), below, digits(s.w), digits(s.t), at, digits(read and versionOf(read) or 0),
  read and string.sub(read, -16, -2) or "0" }
