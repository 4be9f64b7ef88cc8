-- What the scripts of caches share; scripts.ts puts it in front of each of them.
--
-- A cache is five keys in one slot. An entry's member is its group and its id, 32 hexadecimal digits each:
--   KEYS[1], a hash    <member>: when the entry expires (ms since 1970, or nothing), ":", the value
--   KEYS[2]            the members, by when they were last used (us since 1970)
--   KEYS[3]            the members, by when they expire (inf if they don't)
--   KEYS[4]            the members, in the order of their bytes
--   KEYS[5], a hash    b: bytes of all fields of KEYS[1]; e: when the cache was last cleared; g<group>: when the group was (us since 1970)
-- A server short of memory evicts whole keys. So each script counts first, and a cache that has lost a key begins anew.
local entries, used, expiring, names, meta = unpack(KEYS)
local time = redis.call("TIME")
local nowUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local nowMs = math.floor(nowUs / 1000)
-- How many entries one call removes: others wait for a script.
local mostRemoved = 500

-- Numbers of more than 14 digits would lose some as Lua writes them by itself.
local function digits(number)
  return string.format("%.0f", number)
end

local function clearAll()
  redis.call("DEL", entries, used, expiring, names, meta)
  redis.call("HSET", meta, "b", 0, "e", digits(nowUs))
end

local function eraOf(group)
  local found = redis.call("HMGET", meta, "e", "g" .. group)
  return (found[1] or "0") .. "." .. (found[2] or "0")
end

local function remove(member)
  local value = redis.call("HGET", entries, member)
  if not value then return end
  redis.call("HDEL", entries, member)
  for _, set in ipairs({ used, expiring, names }) do redis.call("ZREM", set, member) end
  redis.call("HINCRBY", meta, "b", -#value)
end

local function isWhole()
  local count = redis.call("HLEN", entries)
  for _, set in ipairs({ used, expiring, names }) do
    if redis.call("ZCARD", set) ~= count then return false end
  end
  return count == 0 or redis.call("HEXISTS", meta, "b") == 1
end
if not isWhole() then clearAll() end
