// Generated from the .sql and .lua files of this package by `pnpm embed`. Do not edit.

/** By file name, or by the names inside a file. */
export const lua = {
  "adopt": `local id, ttl, namespace, revision, untilMs = arg(), number(), arg(), number(), number()
local head, record = list(arg)[1], list(function() return { key = arg(), lost = arg(), value = arg() } end)[1]
local blobs, writes = list(takeBlob), list(arg)

local meta = open(id)
local known = adopted(meta, namespace)
if revision < math.max(meta.minCopyRevision, known and tonumber(known.revision) or 0) then return 0 end
bump(meta)
local key = head and head .. separator .. namespace
local stored = record and redis.call("HEXISTS", thread, "r" .. record.key)
if stored == 0 then meta.n = meta.n + 1 end
local headed = redis.call("HEXISTS", thread, "h" .. namespace)
meta.heads = meta.heads + (head and 1 or 0) - headed
local due = save(meta, id, head ~= nil)
addBlobs(blobs)
if record then
  redis.call("HSET", thread, "r" .. record.key, lengthPrefixed(record.lost) .. record.value)
  redis.call("ZADD", index, 0, record.key)
end
if head then
  redis.call("HSET", thread, "h" .. namespace, head)
  local n, many = 0, tonumber(redis.call("HGET", thread, "c" .. key)) or 0
  repeat n = n + 1 until redis.call("HDEL", thread, "w" .. n .. ":" .. key) == 0 and n >= many
  redis.call("HSET", thread, "c" .. key, #writes)
  for n, value in ipairs(writes) do redis.call("HSET", thread, "w" .. n .. ":" .. key, value) end
else
  redis.call("HDEL", thread, "h" .. namespace)
end
redis.call("HSET", thread, "k" .. namespace, string.format("%.0f:%.0f:%.0f:%.0f", revision, untilMs, meta.invalidations, meta.rem))
expire(meta, ttl)
return due`,
  "ancestry": `local id, ttl, key, namespace, limit = arg(), number(), arg(), arg(), number()
local open_, opened = {}, 0
for _, tag in ipairs(list(arg)) do
  open_[tag] = true
  opened = opened + 1
end
local maxItems, maxBytes = 500, 4194304

local meta = open(id)
if not meta.exists then return { 0 } end
refresh(meta, ttl)
local items, blobs, size = {}, collector(), 0
local value = get("r" .. key)
while value and opened > 0 and #items < limit do
  if #items == maxItems or size + blobs.bytes > maxBytes then return { 1, items, blobs.found, blobs.large } end
  local _, at = readString(value, 1)
  local parent = parseRecord(value, at).parent
  if parent == "" then break end
  key = string.sub(parent, 2) .. separator .. namespace
  value = get("r" .. key)
  if not value then break end
  _, at = readString(value, 1)
  local record = parseRecord(value, at)
  local seed = false
  for tag in string.gmatch(record.tags, "[^,]+") do
    if open_[tag] ~= nil then seed = true end
    if open_[tag] then
      open_[tag] = false
      opened = opened - 1
    end
  end
  if seed then collect(blobs, record.blobs) end
  items[#items + 1] = { key, value, false, batches(key, blobs) }
  size = size + #value
end
return { 0, items, blobs.found, blobs.large }`,
  "append": `local id, ttl, seen, continues, relies, refuses = arg(), number(), arg(), arg() == "1", arg() == "1", arg() == "1"
local needsParents = arg() == "1"
local blobs = list(takeBlob)
local moves = list(function()
  local move = { namespace = arg(), to = arg(), any = arg() == "1", expected = {} }
  for _, head in ipairs(list(arg)) do move.expected[head] = true end
  return move
end)
local records = list(function()
  return { key = arg(), namespace = arg(), lost = arg(), value = arg() }
end)
local writes = list(takeBatch)

local meta = open(id)
local names, carried, parents = {}, {}, {}
for n, record in ipairs(records) do
  local parsed = parseRecord(record.value, 1)
  names[n], carried[record.key] = parsed.blobs, true
  if needsParents and parsed.parent ~= "" then parents[record.key] = string.sub(parsed.parent, 2) .. separator .. record.namespace end
end
for _, batch in ipairs(writes) do names[#names + 1] = blobsOfBatch(batch.value, 1) end
local refusal = late(meta, ttl, seen, continues, relies, names, blobs)
if refusal then return refusal end
-- The thread may have expired or been evicted since its writer read it, and come back with pending writes alone.
for key, parent in pairs(parents) do
  local isThere = carried[parent] or redis.call("HEXISTS", thread, "r" .. parent) == 1
  if not isThere and redis.call("HEXISTS", thread, "r" .. key) == 0 then return { "stale" } end
end

-- Whether it is no conflict that a checkpoint doesn't become the head: the checkpoint is stored already, or the head is its child,
-- which arrived first.
local byNamespace = {}
local function isKnown(move, key)
  if redis.call("HEXISTS", thread, "r" .. key) == 1 then return true end
  if move.overtaken == nil then
    move.overtaken = false
    local record = redis.call("HGET", thread, "r" .. move.head .. separator .. move.namespace)
    if record then
      local parent = parseRecord(record, select(2, readString(record, 1))).parent
      move.overtaken = parent ~= "" and string.sub(parent, 2) .. separator .. move.namespace
    end
  end
  return move.overtaken == key
end

for n, move in ipairs(moves) do
  move.head = redis.call("HGET", thread, "h" .. move.namespace)
  move.moved = not move.head or move.head == move.to or move.any or move.expected[move.head] == true
  byNamespace[move.namespace] = byNamespace[move.namespace] or move
  if refuses and not move.moved and not isKnown(move, move.to .. separator .. move.namespace) then
    return { "conflict", n, move.head }
  end
end

bump(meta)
-- Count new records now, because save() writes the thread's fields before the records are stored.
local fresh = {}
for _, record in ipairs(records) do
  local stored = redis.call("HGET", thread, "r" .. record.key)
  local move = byNamespace[record.namespace]
  if move and not move.moved then
    if stored then
      record.lost = readString(stored, 1)
    elseif not isKnown(move, record.key) then
      record.lost = "+" .. move.head
    end
  end
  if not stored and not fresh[record.key] then
    fresh[record.key] = true
    meta.n = meta.n + 1
  end
end
local ends = {}
for _, move in ipairs(moves) do
  if move.moved then
    if not move.head and not ends[move.namespace] then meta.heads = meta.heads + 1 end
    ends[move.namespace] = move.to
  end
end
local due = save(meta, id, #moves > 0)
addBlobs(blobs)
for _, record in ipairs(records) do
  redis.call("HSET", thread, "r" .. record.key, lengthPrefixed(record.lost) .. record.value)
  redis.call("ZADD", index, 0, record.key)
end
for _, batch in ipairs(writes) do addBatch(meta, batch) end
for namespace, to in pairs(ends) do
  redis.call("HSET", thread, "h" .. namespace, to)
  disown(namespace)
end
expire(meta, ttl)

local answer = { "ok", meta.rev, due }
for _, move in ipairs(moves) do
  answer[#answer + 1] = ends[move.namespace] or move.head
  answer[#answer + 1] = move.moved and 1 or 0
end
return answer`,
  "appendWrites": `local id, ttl, seen, continues, relies = arg(), number(), arg(), arg() == "1", arg() == "1"
local blobs = list(takeBlob)
local batch = takeBatch()

local meta = open(id)
local refusal = late(meta, ttl, seen, continues, relies, { blobsOfBatch(batch.value, 1) }, blobs)
if refusal then return refusal end

bump(meta)
local due = save(meta, id, false)
addBlobs(blobs)
addBatch(meta, batch)
expire(meta, ttl)
return { "ok", meta.rev, due }`,
  "blobs": `local id, cursor = arg(), arg()
if not open(id).exists then return { "0", {} } end
local page = redis.call("HSCAN", thread, cursor, "COUNT", 64)
local found = {}
for n = 1, #page[2], 2 do
  local field, value = page[2][n], page[2][n + 1]
  local kind = string.sub(field, 1, 1)
  if kind == "b" or kind == "B" then
    local base, at = redis.call("HGET", thread, "P" .. string.sub(field, 2)) or "", 1
    if kind == "b" then base, at = readString(value, 1) end
    found[#found + 1] = string.sub(field, 2)
    found[#found + 1] = base
    found[#found + 1] = #value - at + 1
  end
end
return { page[1], found }`,
  "changes": `local function takeBatch()
  return { key = arg(), value = arg() }
end

-- Returns the refusal if the writer is late, or read a later revision than there is, because the server was set back; nil otherwise.
-- With a \`ttl\`, a thread that isn't here has expired rather. \`names\` are lists of blobs that the writer sends or relies on. They
-- are looked up because no revision shows that a thread expired or was evicted after it was read. A saver that is refused as stale
-- repeats the call with every value whole.
local function late(meta, ttl, seen, continues, relies, names, blobs)
  if seen ~= "" and tonumber(seen) < meta.del then return { "deleted" } end
  if meta.dead and continues then return { "deleted" } end
  if seen ~= "" and tonumber(seen) > meta.rev and (meta.exists or ttl == 0) then return { "stale", meta.rev } end
  local here, bases = {}, {}
  for _, blob in ipairs(blobs) do
    here[blob.hash] = true
    if blob.base ~= "" then bases[#bases + 1] = blob.base end
  end
  if relies then
    if tonumber(seen ~= "" and seen or 0) < meta.rem then return { "stale" } end
    for _, hashes in ipairs(names) do
      for _, hash in ipairs(readStrings(hashes)) do bases[#bases + 1] = hash end
    end
    for _, hash in ipairs(bases) do
      if not here[hash] and not has(hash) then return { "stale" } end
    end
  end
  return nil
end

-- Writes the thread's own fields. Returns the time to put into the index of all threads, or 0 if it is there already. Times
-- are whole seconds, because the index lies in another slot and each update costs a command.
local function save(meta, id, begins)
  local moment, due = math.floor(nowUs() / 1000000) * 1000, 0
  if moment ~= meta.at or (begins and meta.headsBefore == 0) then
    meta.at = moment
    due = moment
  end
  if begins then
    meta.dead = false
    meta.evicted = false
  end
  redis.call("HSET", thread, "id", id, "rev", meta.rev, "at", meta.at, "n", meta.n, "nh", meta.heads,
    "dead", meta.dead and 1 or 0, "evi", meta.evicted and 1 or 0)
  -- If the hash alone was evicted, the sorted set still names records that are gone.
  if not meta.exists then redis.call("DEL", index) end
  return due
end

local function addBlobs(blobs)
  for _, blob in ipairs(blobs) do
    if not has(blob.hash) then store(blob) end
  end
end

local function addBatch(meta, batch)
  disown(string.sub(batch.key, select(2, string.find(batch.key, separator, 1, true)) + 1))
  local value = lengthPrefixed(string.format("%.0f", meta.rev)) .. batch.value
  -- Where the count was lost, none that is there is written over, and the count is right afterwards.
  local n
  repeat
    n = redis.call("HINCRBY", thread, "c" .. batch.key, 1)
  until redis.call("HSETNX", thread, "w" .. n .. ":" .. batch.key, value) == 1
end`,
  "common": `local thread, index = KEYS[1], KEYS[2]
-- Blobs of this size and more, in bytes, are large. Scripts answer only their names, and the reader fetches them with HMGET,
-- because a script that answers a value takes the server far longer (437 kB: 540 against 14 microseconds).
local large = 32768
local separator = "\\0\\0"
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

-- Returns the length-prefixed string that begins at \`at\`, and where the next one begins.
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

-- Parses the parts of a record before its body. They begin at \`at\`: after lostTo in a stored record, at 1 in one that was sent.
local function parseRecord(value, at)
  local record = {}
  record.parent, at = readString(value, at)
  record.run, at = readString(value, at)
  record.tags, at = readString(value, at)
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

-- Reads the thread's own fields; \`exists\` is false if there is no thread. The key of a long id is made from its hash. If the
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
  if meta.rev == 0 then meta.rev = nowUs() end
  meta.rev = meta.rev + 1
end

-- Sets the same expiry for both keys. \`ttl\` 0 means for ever, except for writes whose checkpoint isn't stored yet and may never be.
local function expire(meta, ttl)
  if meta.dead or (ttl == 0 and meta.heads == 0 and meta.n == 0) then ttl = math.max(ttl, tombstone) end
  for _, key in ipairs({ thread, index }) do
    if ttl == 0 or meta.pinned then redis.call("PERSIST", key) else redis.call("PEXPIRE", key, ttl) end
  end
end

-- Reading restarts a thread's expiry if \`ttl\` isn't 0.
local function refresh(meta, ttl)
  if ttl > 0 and meta.exists and not meta.dead then expire(meta, ttl) end
end

-- Collects blobs with all their bases, each once. Of a large blob \`found\` has only hash and base, and \`large\` hash and size.
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

-- The write batches of a checkpoint, oldest first; their blobs go into \`into\`, if given.
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
end`,
  "deleteThread": `local id, revision = arg(), tonumber(arg() or "")
local whole, meta = pcall(open, id)
if not whole then
  -- What can't be read can still be deleted, though not as unchanged, and not what may be another thread.
  if (redis.call("HGET", thread, "id") or id) ~= id then error(meta) end
  if revision then return 0 end
  meta = { exists = true, rev = nowUs(), minCopyRevision = 0 }
end
if revision and (not meta.exists or meta.rev ~= revision) then return 0 end
local tags = redis.call("HGET", thread, "g")
bump(meta)
redis.call("UNLINK", thread, index)
redis.call("HSET", thread, "id", id, "rev", meta.rev, "del", meta.rev, "rem", meta.rev, "dead", 1, "flo", meta.minCopyRevision)
redis.call("PEXPIRE", thread, tombstone)
local known, names = pcall(readStrings, tags or "")
return known and names or {}`,
  "evict": `local id, revision = arg(), number()
local meta = open(id)
if not meta.exists or meta.rev ~= revision then return 0 end
bump(meta)
local left = redis.call("PTTL", thread)
local kept = { "id", id, "rev", meta.rev, "del", meta.del, "dead", meta.dead and 1 or 0, "rem", meta.rev, "at", meta.at,
  "nh", meta.heads, "pin", meta.pinned and 1 or 0, "evi", 1, "flo", meta.minCopyRevision, "era", meta.invalidations }
local tags = redis.call("HGET", thread, "g")
-- HSCAN rather than HKEYS: only the fields of heads, which are few, are copied into the script.
local heads, cursor = {}, "0"
repeat
  local page = redis.call("HSCAN", thread, cursor, "MATCH", "h*", "COUNT", 1000)
  cursor = page[1]
  for _, part in ipairs(page[2]) do heads[#heads + 1] = part end
until cursor == "0"
redis.call("UNLINK", thread, index)
redis.call("HSET", thread, unpack(kept))
if tags then redis.call("HSET", thread, "g", tags) end
for n = 1, #heads, 2 do redis.call("HSET", thread, heads[n], heads[n + 1]) end
if left > 0 then redis.call("PEXPIRE", thread, left) end
return 1`,
  "inspect": `local id, cursor = arg(), arg()
local found = cursor == "0" and survey(id) or nil
local own = redis.call("HMGET", thread, "rev", "dead", "evi", "rem")
if redis.call("EXISTS", thread) == 0 then return {} end
local page = redis.call("HSCAN", thread, cursor, "MATCH", "[hc]*", "COUNT", 256)
local heads, strays = {}, {}
for n = 1, #page[2], 2 do
  local kind, name = string.sub(page[2][n], 1, 1), string.sub(page[2][n], 2)
  if kind == "h" then
    heads[#heads + 1] = name
    heads[#heads + 1] = page[2][n + 1]
  elseif page[2][n + 1] ~= "0" and redis.call("HEXISTS", thread, "r" .. name) == 0 then
    strays[#strays + 1] = name
  end
end
local dead = own[2] == "1" and not (found and (found.records > 0 or found.heads > 0))
return { page[1], tonumber(own[1] or 0) or 0, dead and 1 or 0, own[3] == "1" and 1 or 0, tonumber(own[4] or 0) or 0, heads, strays,
  found and found.wrong or {}, found and found.lost or {} }`,
  "invalidate": `local id, ttl, before = arg(), number(), number()
local meta = open(id)
if not meta.exists and before == 0 then return 0 end
redis.call("HSET", thread, "id", id, "flo", math.max(meta.minCopyRevision, before), "era", meta.invalidations + 1)
expire(meta, ttl)
return 1`,
  "lease": `local holder, forMs = ARGV[1], tonumber(ARGV[2])
local held = redis.call("GET", KEYS[1])
if held and held ~= holder then return 0 end
if forMs > 0 then redis.call("SET", KEYS[1], holder, "PX", forMs) else redis.call("DEL", KEYS[1]) end
return 1`,
  "list": `local id, ttl, max, min, limit, bare, lost = arg(), number(), arg(), arg(), number(), arg() == "1", arg() == "1"
local namespace = list(arg)[1]
local tags = list(arg)
local runs, anyRun = {}, true
for _, run in ipairs(list(arg)) do
  runs["+" .. run] = true
  anyRun = false
end
local maxEntries, maxBytes = 1000, 4194304

local meta = open(id)
if not meta.exists then return { 0 } end
if redis.call("ZCARD", index) ~= meta.n then
  redis.call("DEL", index)
  for _, field in ipairs(redis.call("HKEYS", thread)) do
    if string.sub(field, 1, 1) == "r" and field ~= "rev" and field ~= "rem" then
      redis.call("ZADD", index, 0, string.sub(field, 2))
    end
  end
  local left = redis.call("PTTL", thread)
  if left > 0 then redis.call("PEXPIRE", index, left) end
end
refresh(meta, ttl)

local function matches(value)
  local lostTo, at = readString(value, 1)
  if lost and lostTo == "" then return false end
  local record = parseRecord(value, at)
  if not anyRun and not runs[record.run] then return false end
  for _, tag in ipairs(tags) do
    if not string.find(record.tags, "," .. tag .. ",", 1, true) then return false end
  end
  return true
end

local heads, items, blobs, size, last = {}, {}, collector(), 0, false
local keys = redis.call("ZREVRANGEBYLEX", index, max, min, "LIMIT", 0, maxEntries)
local more = #keys == maxEntries
for n, key in ipairs(keys) do
  local ns = string.sub(key, select(2, string.find(key, separator, 1, true)) + 1)
  last = key
  if namespace == nil or ns == namespace then
    local value = get("r" .. key)
    if value and matches(value) then
      if heads[ns] == nil then heads[ns] = redis.call("HGET", thread, "h" .. ns) end
      if not bare then
        local _, at = readString(value, 1)
        collect(blobs, parseRecord(value, at).blobs)
      end
      items[#items + 1] = { key, value, heads[ns], batches(key, not bare and blobs or nil) }
      size = size + #value
      if #items == limit or size + blobs.bytes > maxBytes then
        more = more or n < #keys
        break
      end
    end
  end
end
return { more and 1 or 0, items, blobs.found, blobs.large, last }`,
  "lock": `local holder, forMs = ARGV[1], tonumber(ARGV[2])
local time = redis.call("TIME")
local nowUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local held = redis.call("HMGET", KEYS[1], "holder", "token", "since", "until")
local isMine = held[1] == holder
if held[1] and not isMine and tonumber(held[4]) > nowUs then return { 0, held[1], held[2], held[3] } end
local token, sinceMs = held[2], held[3]
if not isMine then
  -- Numbers of this size would lose digits as Lua writes them by itself.
  token = string.format("%.0f", math.max(nowUs, tonumber(held[2] or 0) + 1))
  sinceMs = string.format("%.0f", math.floor(nowUs / 1000))
end
redis.call("HSET", KEYS[1], "holder", holder, "token", token, "since", sinceMs, "until", string.format("%.0f", nowUs + forMs * 1000))
redis.call("PEXPIRE", KEYS[1], forMs + tonumber(ARGV[3]))
return { 1, holder, token, sinceMs }`,
  "mend": `local id = arg()
local found = survey(id)
if not found then return 0 end
local wrong = {}
for _, field in ipairs(found.wrong) do wrong[field] = true end
if #found.wrong == 0 then return 0 end
-- Above every revision that a reader may have seen, also where it was lost.
local rev = wrong.rev and nowUs() or tonumber(redis.call("HGET", thread, "rev") or 0)
redis.call("HSET", thread, "rev", rev + 1, "n", found.records, "nh", found.heads)
-- The key of a long id is only a hash of it: another id there isn't written over.
if string.find(thread, "{" .. id .. "}", 1, true) then redis.call("HSET", thread, "id", id)
else redis.call("HSETNX", thread, "id", id) end
-- Where it was forgotten what came before, who is under way begins anew.
for _, field in ipairs({ "del", "rem" }) do
  if wrong[field] then redis.call("HSET", thread, field, rev + 1) end
end
for _, field in ipairs({ "at", "flo", "era", "dead" }) do
  if wrong[field] then redis.call("HSET", thread, field, field == "at" and math.floor(nowUs() / 1000000) * 1000 or 0) end
end
for key, many in pairs(found.batches) do
  if wrong["c" .. key] then redis.call("HSET", thread, "c" .. key, many.last) end
end
-- Listing makes it anew.
if wrong.index then redis.call("DEL", index) end
return #found.wrong`,
  "paste": `local id, ttl, revision, fields, records, heads = arg(), number(), number(), number(), number(), number()
local staged, stagedIndex = KEYS[3], KEYS[4]
local own = { id = 1, rev = 1, del = 1, dead = 1, rem = 1, evi = 1, at = 1, n = 1, nh = 1, pin = 1, flo = 1, era = 1 }
local meta = open(id)
if meta.heads > 0 then return { "exists", redis.call("HGET", thread, "h") } end
-- A server short of memory may have evicted what was gathered.
if redis.call("HLEN", staged) ~= fields then return { "lost" } end
-- A copy carries the tags of its source, and those that were given to it before.
local tags, has = redis.call("HGET", staged, "g") or "", {}
for _, tag in ipairs(readStrings(tags)) do has[tag] = true end
for _, tag in ipairs(readStrings(redis.call("HGET", thread, "g") or "")) do
  if not has[tag] then tags = tags .. lengthPrefixed(tag) end
end
if tags ~= "" then redis.call("HSET", staged, "g", tags) end
local early = redis.call("HKEYS", thread)
local sourced = {}
for _, field in ipairs(early) do
  if string.sub(field, 1, 1) == "c" and redis.call("HEXISTS", staged, field) == 1 then sourced[field] = true end
end
for _, field in ipairs(early) do
  -- Pending writes of a checkpoint that the source has are numbered there.
  local batchOf = string.match(field, "^w%d+:(.*)$") or string.match(field, "^c(.*)$")
  local taken = batchOf and sourced["c" .. batchOf]
  if not own[field] and string.sub(field, 1, 1) ~= "k" and not taken then
    local added = redis.call("HSETNX", staged, field, redis.call("HGET", thread, field))
    if string.sub(field, 1, 1) == "r" then
      records = records + added
      redis.call("ZADD", stagedIndex, 0, string.sub(field, 2))
    end
  end
end
redis.call("RENAME", staged, thread)
redis.call("DEL", index)
if redis.call("EXISTS", stagedIndex) == 1 then redis.call("RENAME", stagedIndex, index) end
meta.rev = math.max(meta.rev, revision)
bump(meta)
meta.exists, meta.n, meta.heads = true, records, heads
local due = save(meta, id, true)
redis.call("HSET", thread, "del", meta.del, "rem", meta.rem, "pin", meta.pinned and 1 or 0, "flo", meta.minCopyRevision,
  "era", meta.invalidations)
expire(meta, ttl)
return { "ok", due }`,
  "pin": `local id, ttl, pinned = arg(), number(), arg() == "1"
local meta = open(id)
if not meta.exists or meta.dead then return 0 end
meta.pinned = pinned
redis.call("HSET", thread, "pin", pinned and 1 or 0)
expire(meta, ttl)
return 1`,
  "probe": `redis.call("ZRANDMEMBER", KEYS[1])
return redis.call("UNLINK", KEYS[1])`,
  "read": `local id, ttl, whole, namespace, wanted = arg(), number(), arg() == "1", arg(), arg()
local meta = open(id)
if not meta.exists then return { 0 } end
refresh(meta, ttl)
local head = redis.call("HGET", thread, "h" .. namespace)
local checkpoint = wanted ~= "" and wanted or head
local copy = copyOf(meta, namespace)
if not checkpoint then return { meta.rev, head, copy } end
local key = checkpoint .. separator .. namespace
local record = get("r" .. key)
if not whole then return { meta.rev, head, copy, batches(key), key, record } end

if not record then return { meta.rev, head, copy } end
local blobs = collector()
local _, at = readString(record, 1)
collect(blobs, parseRecord(record, at).blobs)
local writes = batches(key, blobs)
if blobs.missing then return { meta.rev, head, copy } end
return { meta.rev, head, copy, writes, key, record, blobs.found, blobs.large }`,
  "remove": `local id, revision = arg(), number()
local keys, drops = list(arg), list(arg)
local replaced = list(takeBlob)
local heads = list(function() return { namespace = arg(), to = arg() } end)

local meta = open(id)
if not meta.exists or meta.rev ~= revision then return 0 end
bump(meta)
-- Delete first: a full server refuses a first write that needs memory, and accepts one that frees it.
for _, key in ipairs(keys) do
  meta.n = meta.n - redis.call("HDEL", thread, "r" .. key)
  redis.call("ZREM", index, key)
  local n, many = 0, count(redis.call("HGET", thread, "c" .. key), "c" .. key)
  repeat n = n + 1 until redis.call("HDEL", thread, "w" .. n .. ":" .. key) == 0 and n >= many
  redis.call("HDEL", thread, "c" .. key)
end
for _, hash in ipairs(drops) do drop(hash) end
for _, blob in ipairs(replaced) do
  drop(blob.hash)
  store(blob)
end
for _, move in ipairs(heads) do
  if move.to == "" then
    meta.heads = meta.heads - redis.call("HDEL", thread, "h" .. move.namespace)
  else
    meta.heads = meta.heads + redis.call("HSET", thread, "h" .. move.namespace, move.to)
  end
end
redis.call("HSET", thread, "rev", meta.rev, "rem", meta.rev, "n", meta.n, "nh", meta.heads)
return 1`,
  "replaceBytes": `local id, revision = arg(), number()
local records = list(function() return { key = arg(), body = arg() } end)
local writes = list(function() return { key = arg(), place = number(), body = arg() } end)
local blobs = list(function() return { hash = arg(), bytes = arg() } end)

-- The value of a field up to its last part, which begins after \`strings\` strings.
local function front(value, strings)
  local at = 1
  for _ = 1, strings do _, at = readString(value, at) end
  return string.sub(value, 1, at - 1)
end

local function replace(field, strings, body)
  local value = redis.call("HGET", thread, field)
  if value then redis.call("HSET", thread, field, front(value, strings) .. body) end
end

local meta = open(id)
if not meta.exists or meta.rev ~= revision then return 0 end
bump(meta)
redis.call("HSET", thread, "rev", meta.rev)
for _, record in ipairs(records) do replace("r" .. record.key, 5, record.body) end
for _, batch in ipairs(writes) do replace("w" .. (batch.place + 1) .. ":" .. batch.key, 3, batch.body) end
for _, blob in ipairs(blobs) do
  if has(blob.hash) then
    local small = redis.call("HGET", thread, "b" .. blob.hash)
    blob.base = small and readString(small, 1) or redis.call("HGET", thread, "P" .. blob.hash) or ""
    drop(blob.hash)
    store(blob)
  end
end
return meta.rev`,
  "stage": `local livesMs = number()
local fields, records, heads = 0, 0, 0
for _ = 1, number() do
  local field, value = arg(), arg()
  local added = redis.call("HSET", thread, field, value)
  local kind = string.sub(field, 1, 1)
  fields = fields + added
  if kind == "r" then
    records = records + added
    redis.call("ZADD", index, 0, string.sub(field, 2))
  elseif kind == "h" then
    heads = heads + added
  end
end
redis.call("PEXPIRE", thread, livesMs)
redis.call("PEXPIRE", index, livesMs)
return { fields, records, heads }`,
  "survey": `local function survey(id)
  local own = redis.call("HMGET", thread, "id", "rev", "del", "rem", "at", "n", "nh", "flo", "era", "dead")
  local found = { records = 0, heads = 0, fields = 0, keys = {}, batches = {}, counts = {}, wrong = {}, lost = {} }
  local ownFields = { rev = true, rem = true }
  for _, field in ipairs(redis.call("HKEYS", thread)) do
    local kind, name = string.sub(field, 1, 1), string.sub(field, 2)
    found.fields = found.fields + 1
    if kind == "h" then
      found.heads = found.heads + 1
    elseif kind == "r" and not ownFields[field] then
      found.records = found.records + 1
      found.keys[found.records] = name
    elseif kind == "w" then
      local n, key = string.match(field, "^w(%d+):(.*)$")
      if n then
        local many = found.batches[key] or { last = 0, here = 0 }
        many.last, many.here = math.max(many.last, tonumber(n)), many.here + 1
        found.batches[key] = many
      end
    elseif kind == "c" then
      found.counts[name] = tonumber(redis.call("HGET", thread, field)) or -1
    end
  end
  if found.fields == 0 then return nil end
  local wrong = found.wrong
  local holds = found.records + found.heads > 0
  if own[1] ~= id and (own[1] or holds or own[2]) then wrong[#wrong + 1] = "id" end
  for n, field in ipairs({ "rev", "del", "rem", "at", "n", "nh", "flo", "era" }) do
    local value = own[n + 1]
    local number = tonumber(value or 0)
    if not number or number < 0 or number ~= math.floor(number) or (field == "rev" and number == 0 and holds) then
      wrong[#wrong + 1] = field
    elseif field == "nh" and number == 0 and found.heads > 0 then
      wrong[#wrong + 1] = field
    end
  end
  if own[10] == "1" and found.heads > 0 then wrong[#wrong + 1] = "dead" end
  -- A batch that is gone in the middle, or behind the last one that is counted, isn't anywhere.
  for key, many in pairs(found.batches) do
    local counted = found.counts[key] or -1
    if many.here < math.max(many.last, counted) then
      found.lost[#found.lost + 1] = key
    elseif counted ~= many.last then
      wrong[#wrong + 1] = "c" .. key
    end
  end
  for key, counted in pairs(found.counts) do
    if counted ~= 0 and not found.batches[key] then found.lost[#found.lost + 1] = key end
  end
  -- Listing makes the sorted set anew unless it has as many members as "n" says: then it must not leave a record out.
  if redis.call("ZCARD", index) == tonumber(own[6] or 0) then
    for _, key in ipairs(found.keys) do
      if not redis.call("ZSCORE", index, key) then
        wrong[#wrong + 1] = "index"
        break
      end
    end
  end
  return found
end`,
  "tagThread": `local id, ttl = arg(), number()
local meta = open(id)
local tags = redis.call("HGET", thread, "g") or ""
local has = {}
for _, tag in ipairs(readStrings(tags)) do has[tag] = true end
for _, tag in ipairs(list(arg)) do
  if not has[tag] then tags = tags .. lengthPrefixed(tag) end
end
-- If the hash alone was evicted, the sorted set still names records that are gone.
if not meta.exists then redis.call("DEL", index) end
redis.call("HSET", thread, "id", id, "g", tags)
-- A tombstone must not expire before the checkpoint that the writer of these tags stores next.
if not meta.exists or meta.dead then expire(meta, ttl) end
return meta.rev`,
  "threadPage": `local newest, max, size, after, score = ARGV[1] == "1", ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local all = KEYS[1]
local first = 0
if score ~= "" then
  local now = redis.call("ZSCORE", all, after)
  if now and tonumber(now) == tonumber(score) then
    first = redis.call(newest and "ZREVRANK" or "ZRANK", all, after) + 1
  elseif newest then
    first = redis.call("ZCOUNT", all, "(" .. score, "+inf")
  else
    first = redis.call("ZCOUNT", all, "-inf", "(" .. score)
  end
elseif newest and max ~= "" then
  first = redis.call("ZCOUNT", all, max, "+inf")
end
return redis.call(newest and "ZREVRANGE" or "ZRANGE", all, first, first + size - 1, "WITHSCORES")`,
  "unindex": `local score = redis.call("ZSCORE", KEYS[1], ARGV[1])
if score and tonumber(score) == tonumber(ARGV[2]) then return redis.call("ZREM", KEYS[1], ARGV[1]) end
return 0`,
  "unlock": `if redis.call("HGET", KEYS[1], "holder") ~= ARGV[1] then return 0 end
redis.call("HSET", KEYS[1], "until", 0)
return 1`,
  "untagThread": `local id = arg()
local meta = open(id)
local goes, kept = {}, ""
for _, tag in ipairs(list(arg)) do goes[tag] = true end
for _, tag in ipairs(readStrings(redis.call("HGET", thread, "g") or "")) do
  if not goes[tag] then kept = kept .. lengthPrefixed(tag) end
end
if meta.exists then redis.call("HSET", thread, "g", kept) end
return 1`,
} as const;
