-- What the scripts of items and workspaces share; scripts.ts puts it between common.lua and each of them.
--
-- A space is the store, which has all items outside of workspaces, or one workspace. Its keys lie in one slot:
--   KEYS[1], a hash:  id            the workspace's name; empty for the store
--                     v             the last version that was given
--                     n, e, l, c    how many items, items that expire, log entries and commits the other keys hold
--                     w, t, at      version of the newest log entry; up to which version entries were removed; time of the last change
--                     <address>     an item: version, when it was created, changed, expires (or nothing), "L" if the log has it too
--                     B<version>    a body: when its item was created, the note (a string), and the value
--                     V<version>    vectors, for an item that has some: their length, and their numbers (4 bytes each, low byte first)
--                     E<version>    of a put in the log: when its item expires, if it does
--   KEYS[2]           the addresses, in the order of their bytes
--   KEYS[3]           the addresses, by version
--   KEYS[4]           the addresses of items that expire, by when they do
--   KEYS[5], KEYS[6]  the entries of the log, by version; the same in the order of their bytes
--   KEYS[7]           the ids of the newest 10,000 commits, by the version of their first entry
-- An address is 0x01, the label and 0x00 for each label, then 0x00 and the key, in which 0xff follows each zero byte. A log entry is
-- "i" (or "m" for a message), the address, 0x00, its version (16 digits), its time (15 digits), and "p", "d", "m" or "n" for put, delete,
-- message, message without a value. Times are in ms since 1970. A server short of memory evicts whole keys: each script compares the counts first.
local space, order, newest, expiring, log, history, commits = unpack(KEYS)
-- How many entries of a sorted set one call looks at, and how many bytes it answers, before the client has to go on.
local maxLooked, maxBytes = 1000, 4194304
local nowMs = math.floor(nowUs() / 1000)

-- Numbers of more than 14 digits would lose some as Lua writes them by itself.
local function digits(number)
  return string.format("%.0f", number)
end

local function padded(version)
  return string.format("%016.0f", version)
end

-- Reads the space's own fields; `exists` is false if there is no space.
local function openSpace(id)
  local m = redis.call("HMGET", space, "id", "v", "n", "e", "l", "c", "w", "t", "at")
  if m[1] and m[1] ~= id then damaged("id names another workspace") end
  local s = { id = id, exists = m[1] ~= false, v = count(m[2], "v"), n = count(m[3], "n"), e = count(m[4], "e"), l = count(m[5], "l"),
    c = count(m[6], "c"), w = count(m[7], "w"), t = count(m[8], "t"), at = count(m[9], "at") }
  for n, held in ipairs({ s.n, s.n, s.e, s.l, s.l, s.c }) do
    local there = redis.call("ZCARD", KEYS[n + 1])
    if there ~= held then
      damaged(KEYS[n + 1] .. " holds " .. there .. " of " .. held .. " entries; the server may have evicted one of the keys")
    end
  end
  return s
end

local function saveSpace(s)
  redis.call("HSET", space, "id", s.id, "v", digits(s.v), "n", s.n, "e", s.e, "l", s.l, "c", s.c, "w", digits(s.w), "t", digits(s.t),
    "at", digits(s.at))
end

-- The item at an address, expired or not; nil if there is none.
local function itemAt(address)
  local header = redis.call("HGET", space, address)
  if not header then return nil end
  local version, created, updated, expires, logged = string.match(header, "^(%d+):(%d+):(%d+):(%d*):(L?)$")
  if not version then damaged("an item's times are damaged") end
  return { header = header, version = tonumber(version), created = created, updated = updated, expires = tonumber(expires),
    logged = logged }
end

local function isLive(item)
  return item ~= nil and (not item.expires or item.expires > nowMs)
end

-- Removes the body of an item that goes, unless the log has it.
local function dropBody(item)
  if item.logged == "" then redis.call("HDEL", space, "B" .. digits(item.version), "V" .. digits(item.version)) end
end

local function removeItem(s, address, item)
  redis.call("HDEL", space, address)
  redis.call("ZREM", order, address)
  redis.call("ZREM", newest, address)
  dropBody(item)
  s.n = s.n - 1
  if item.expires then s.e = s.e - redis.call("ZREM", expiring, address) end
end

-- Puts an item in the place of `before`, which is nil if none is there. Its body is stored already.
local function putItem(s, address, before, item)
  redis.call("HSET", space, address, digits(item.version) .. ":" .. item.created .. ":" .. item.updated .. ":"
    .. (item.expires and digits(item.expires) or "") .. ":" .. item.logged)
  if before and before.version ~= item.version then dropBody(before) end
  s.n = s.n + redis.call("ZADD", order, 0, address)
  redis.call("ZADD", newest, digits(item.version), address)
  if item.expires then s.e = s.e + redis.call("ZADD", expiring, digits(item.expires), address)
  elseif before and before.expires then s.e = s.e - redis.call("ZREM", expiring, address) end
  if item.logged == "L" then
    if item.expires then redis.call("HSET", space, "E" .. digits(item.version), digits(item.expires))
    else redis.call("HDEL", space, "E" .. digits(item.version)) end
  end
end

-- The bodies that a script answers. Large ones, and those that would be too many bytes together, are only named, with their sizes:
-- the client fetches them. They never change, unless they are encrypted anew. With `all`, none is only named.
local bodies = { named = {}, bytes = 0, answered = 0, all = false }

local function body(version)
  local field = "B" .. digits(version)
  local size = redis.call("HSTRLEN", space, field)
  if size == 0 then damaged(field .. " isn't there") end
  bodies.bytes = bodies.bytes + size
  if not bodies.all and (size >= large or bodies.answered + size > maxBytes) then
    bodies.named[#bodies.named + 1] = digits(version)
    bodies.named[#bodies.named + 1] = size
    return false
  end
  bodies.answered = bodies.answered + size
  return redis.call("HGET", space, field)
end

local function versionOf(entry)
  return tonumber(string.sub(entry, -32, -17))
end

-- Of log entries that begin so, address and all, the last one up to a version; nil if that isn't a put, or of an item that has expired.
local function putAt(begin, version)
  local last = redis.call("ZREVRANGEBYLEX", history, "(" .. begin .. padded(version + 1), "[" .. begin, "LIMIT", 0, 1)[1]
  if not last or string.sub(last, -1) ~= "p" then return nil end
  local expires = redis.call("HGET", space, "E" .. digits(versionOf(last)))
  if expires and count(expires, "E") <= nowMs then return nil end
  return last
end

-- Ranges of a sorted set in the order of its bytes: where they begin, and where they end.
local function takeRanges()
  return list(function() return { arg(), arg() } end)
end

local function countIn(key, ranges)
  local found = 0
  for _, range in ipairs(ranges) do found = found + redis.call("ZLEXCOUNT", key, range[1], range[2]) end
  return found
end
