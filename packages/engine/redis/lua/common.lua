-- Every script of this package begins with this file: scripts.ts puts it in front of each of them.
--
-- A thread is ONE hash (KEYS[1]) with one sorted set beside it (KEYS[2]), both in one slot:
--   id, rev             the thread's id and revision
--   del, rem            the revisions of the last deletion and of the last removal
--   dead, evi, pin      1 if the thread is deleted, evicted, pinned; 0 or absent if it isn't
--   at                  when the thread was last written, in ms since 1970
--   n, nh               how many records and how many heads it has
--   flo, era            if the thread copies another tier's: the lowest revision of the owner that may be adopted, and how often
--                       all copies were invalidated
--   g                   the thread's tags: per tag a string that holds two strings, key and value
--   q                   how it stands, and the revision that this is of: "17:w", see status.lua
--   h<namespace>        the id of the namespace's head
--   k<namespace>        if this head and its writes are a copy: the owner's revision, until when the copy may be trusted (in ms
--                       since 1970), and the thread's era and rem when it was adopted
--   r<key>              a record: lostTo, parent, run, terms, blob hashes (each a string), then the body
--   b<hash>             a blob: its base (a string, empty if the blob is whole), then the bytes
--   B<hash>, P<hash>    a large blob: its bytes; its base, if it has one
--   c<key>, w<n>:<key>  how many write batches a checkpoint has; the n-th batch: order, task, blob hashes, body
--   o<key>              what the write batches of a root checkpoint say of their tasks: per batch the task (a string) and a letter
-- where <key> is the checkpoint id (escaped, so that no two zero bytes are in it), two zero bytes, and the namespace. A string
-- is stored with its length in front, "3:abc". A thread is one hash because a server short of memory evicts whole keys: no head
-- is left without its writes, and no record without its blobs. The sorted set holds every <key>, for listing in order. It is
-- rebuilt from the hash when it alone was evicted.
--
-- Every script checks first and writes afterwards. A full server refuses a script at its first write or not at all, so a
-- script is applied as a whole or not at all.
local thread, index = KEYS[1], KEYS[2]
-- Blobs of this size and more, in bytes, are large. Scripts answer only their names, and the reader fetches them with HMGET,
-- because a script that answers a value takes the server far longer (437 kB: 540 against 14 microseconds).
local large = 32768
local separator = "\0\0"
-- How long a tombstone stays, in ms: 7 days. It keeps late writes from bringing a deleted thread back.
local tombstone = 604800000

local position = 0
local function arg()
  position = position + 1
  return ARGV[position]
end

local function number()
  return tonumber(arg())
end

local function list(take)
  local found = {}
  for n = 1, number() do found[n] = take() end
  return found
end

-- The field of the thread that was read last, to name it where it is damaged.
local reading

local function get(field)
  reading = field
  return redis.call("HGET", thread, field)
end

-- Stops the script: what is stored isn't what was put. The saver says so with the code CORRUPT.
local function damaged(what)
  error("STRATIGRAPHDAMAGED " .. string.gsub(what, "%z+", " ") .. " STRATIGRAPHEND")
end

-- Returns the length-prefixed string that begins at `at`, and where the next one begins.
local function readString(value, at)
  local colon = string.find(value, ":", at, true)
  local length = colon and tonumber(string.sub(value, at, colon - 1))
  local last = length and colon + length
  if not last or length < 0 or last > #value then damaged((reading or "a field") .. ": a length in it is damaged") end
  return string.sub(value, colon + 1, last), last + 1
end

local function readStrings(value)
  local found, at = {}, 1
  while at <= #value do
    found[#found + 1], at = readString(value, at)
  end
  return found
end

local function lengthPrefixed(value)
  return #value .. ":" .. value
end

-- Parses the parts of a record before its body. They begin at `at`: after lostTo in a stored record, at 1 in one that was sent.
local function parseRecord(value, at)
  local record = {}
  record.parent, at = readString(value, at)
  record.run, at = readString(value, at)
  record.terms, at = readString(value, at)
  record.blobs = readString(value, at)
  return record
end

local function blobsOfBatch(value, at)
  local _, after = readString(value, at)
  return (readString(value, after))
end

local function nowUs()
  local time = redis.call("TIME")
  return time[1] * 1000000 + time[2]
end

-- The number that a field holds, 0 where it isn't there.
local function count(value, field)
  local found = tonumber(value or 0)
  if not found then damaged(field .. " isn't a number") end
  return found
end

-- Reads the thread's own fields; `exists` is false if there is no thread. The key of a long id is made from its hash. If the
-- hashes of two ids are ever equal, this raises an error instead of showing the wrong thread.
local function open(id)
  local m = redis.call("HMGET", thread, "id", "rev", "del", "dead", "rem", "at", "n", "nh", "pin", "evi",
    "flo", "era")
  if m[1] ~= id then
    if m[1] then damaged("id names another thread") end
    if m[2] then damaged("id isn't there") end
  end
  return {
    exists = m[1] ~= false,
    rev = count(m[2], "rev"),
    del = count(m[3], "del"),
    dead = m[4] == "1",
    rem = count(m[5], "rem"),
    at = count(m[6], "at"),
    n = count(m[7], "n"),
    heads = count(m[8], "nh"),
    headsBefore = tonumber(m[8] or 0),
    pinned = m[9] == "1",
    evicted = m[10] == "1",
    minCopyRevision = count(m[11], "flo"),
    invalidations = count(m[12], "era"),
  }
end

-- Increments the revision. A thread that isn't here may have expired or been evicted, so its revisions begin above every one that a
-- reader may have seen: at the current time in microseconds, because no server makes more changes than one in each.
local function bump(meta)
  meta.revBefore = meta.rev
  if meta.rev == 0 then meta.rev = nowUs() end
  meta.rev = meta.rev + 1
end

-- Sets the same expiry for both keys. `ttl` 0 means for ever, except for writes whose checkpoint isn't stored yet and may never be.
local function expire(meta, ttl)
  if meta.dead or (ttl == 0 and meta.heads == 0 and meta.n == 0) then ttl = math.max(ttl, tombstone) end
  for _, key in ipairs({ thread, index }) do
    if ttl == 0 or meta.pinned then redis.call("PERSIST", key) else redis.call("PEXPIRE", key, ttl) end
  end
end

-- Reading restarts a thread's expiry if `ttl` isn't 0.
local function refresh(meta, ttl)
  if ttl > 0 and meta.exists and not meta.dead then expire(meta, ttl) end
end

-- Collects blobs with all their bases, each once. Of a large blob `found` has only hash and base, and `large` hash and size.
local function collector()
  return { seen = {}, found = {}, large = {}, bytes = 0, missing = false }
end

local function collect(into, hashes)
  for _, hash in ipairs(readStrings(hashes)) do
    while hash ~= "" and not into.seen[hash] do
      into.seen[hash] = true
      local value = get("b" .. hash)
      local size = value and #value or redis.call("HSTRLEN", thread, "B" .. hash)
      if size == 0 then
        into.missing = true
        break
      end
      if not value then
        value = lengthPrefixed(redis.call("HGET", thread, "P" .. hash) or "")
        into.large[#into.large + 1] = hash
        into.large[#into.large + 1] = size
      end
      into.found[#into.found + 1] = hash
      into.found[#into.found + 1] = value
      into.bytes = into.bytes + size
      hash = readString(value, 1)
    end
  end
end

-- The write batches of a checkpoint, oldest first; their blobs go into `into`, if given.
-- The batch behind the last one is asked for too: a count that is lost, or too low, would drop pending writes silently.
local function batches(key, into)
  local found = {}
  local first = redis.call("HMGET", thread, "c" .. key, "w1:" .. key)
  local many, value = count(first[1], "c" .. key), first[2]
  for n = 1, many do
    if not value then damaged("w" .. n .. ":" .. key .. " isn't there") end
    found[n] = value
    if into then
      reading = "w" .. n .. ":" .. key
      local _, at = readString(value, 1)
      collect(into, blobsOfBatch(value, at))
    end
    value = redis.call("HGET", thread, "w" .. n + 1 .. ":" .. key)
  end
  if value then damaged("c" .. key .. " is lost or too low") end
  return found
end

-- Takes a blob from the arguments.
local function takeBlob()
  return { hash = arg(), base = arg(), bytes = arg() }
end

local function has(hash)
  return redis.call("HEXISTS", thread, "b" .. hash) == 1 or redis.call("HEXISTS", thread, "B" .. hash) == 1
end

local function store(blob)
  if #blob.bytes < large then
    redis.call("HSET", thread, "b" .. blob.hash, lengthPrefixed(blob.base) .. blob.bytes)
  else
    redis.call("HSET", thread, "B" .. blob.hash, blob.bytes)
    if blob.base ~= "" then redis.call("HSET", thread, "P" .. blob.hash, blob.base) end
  end
end

local function drop(hash)
  redis.call("HDEL", thread, "b" .. hash, "B" .. hash, "P" .. hash)
end

-- Whether a namespace without a head has lost it: the thread has had a head, isn't a copy in parts that is under way (isUnderWay), and there are
-- records of the namespace's main line, or the mark of an archived thread says that its root had a head (isRootedMark). Of other
-- namespaces than the root it looks only at what was made since the root's head, the newest 256 of it: a run reads those of its step.
local function headless(meta, namespace)
  if meta.heads == 0 then return false end
  local copied = redis.call("HGET", thread, "h\1stratigraph.copy")
  if copied and copied ~= "whole" then return false end
  local mark = redis.call("HGET", thread, "h\1stratigraph.archived")
  if namespace == "" and mark and string.sub(mark, 1, 6) == "root: " then return true end
  if meta.n == 0 then return false end
  local ending = separator .. namespace
  local function isOnMainLine(key)
    if string.sub(key, -#ending) ~= ending then return false end
    local record = get("r" .. key)
    return record and readString(record, 1) == ""
  end
  local root = redis.call("HGET", thread, "h")
  if namespace ~= "" then
    if not root then return false end
    for _, key in ipairs(redis.call("ZREVRANGEBYLEX", index, "+", "(" .. root .. separator .. "\255", "LIMIT", 0, 256)) do
      if isOnMainLine(key) then return true end
    end
    return false
  end
  local from, keys = 0
  repeat
    keys = redis.call("ZREVRANGE", index, from, from + 255)
    for _, key in ipairs(keys) do
      if isOnMainLine(key) then return true end
    end
    from = from + 256
  until #keys < 256
  if from > 256 or #keys > 0 then return false end
  -- The sorted set alone was evicted.
  for _, field in ipairs(redis.call("HKEYS", thread)) do
    if string.sub(field, 1, 1) == "r" and isOnMainLine(string.sub(field, 2)) then return true end
  end
  return false
end

-- Marks the namespace's head and writes as no longer a copy from another tier.
local function disown(namespace)
  redis.call("HDEL", thread, "k" .. namespace)
end

-- Returns the copy that a namespace holds; nil if it holds none, or if anything was removed from the thread since it was adopted.
local function adopted(meta, namespace)
  local copy = redis.call("HGET", thread, "k" .. namespace)
  local revision, untilMs, invalidations, rem = string.match(copy or "", "^(%d+):(%d+):(%d+):(%d+)$")
  if not revision or tonumber(rem) ~= meta.rem then return nil end
  return { revision = revision, untilMs = untilMs, invalidations = tonumber(invalidations) }
end

-- Returns the owner's revision and the time until which a namespace's copy may be trusted, as "revision:ms"; false if there is no
-- copy or it was invalidated. The reader compares the time with its own clock.
local function copyOf(meta, namespace)
  local copy = adopted(meta, namespace)
  if not copy or copy.invalidations ~= meta.invalidations then return false end
  return copy.revision .. ":" .. copy.untilMs
end
