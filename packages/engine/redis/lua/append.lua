-- Tier.append in one atomic step: checks that the writer isn't late, moves the heads by compare-and-set, and stores blobs,
-- records and writes. It is a script because plain commands would need a lock, or a WATCH loop of several round trips, to
-- compare and to write many fields together.
local id, ttl, seen, continues, relies, refuses = arg(), number(), arg(), arg() == "1", arg() == "1", arg() == "1"
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

local begins = {}
for n, record in ipairs(records) do
  if parseRecord(record.value, 1).parent == "" then begins[record.key] = true end
end
for n, move in ipairs(moves) do
  move.head = redis.call("HGET", thread, "h" .. move.namespace)
  move.moved = not move.head or move.head == move.to or move.any or move.expected[move.head] == true
  byNamespace[move.namespace] = byNamespace[move.namespace] or move
  if not move.head and not move.any and move.namespace == "" and begins[move.to .. separator] and headless(meta, "") then
    return { "headless" }
  end
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
local changes = ends[""] and "all"
for _, batch in ipairs(writes) do
  if string.sub(batch.key, -2) == separator then changes = "all" end
end
for namespace, to in pairs(ends) do
  redis.call("HSET", thread, "h" .. namespace, to)
  disown(namespace)
end
local stands = stamp(meta, changes, due)
expire(meta, ttl)

local answer = { "ok", meta.rev, due }
for _, move in ipairs(moves) do
  answer[#answer + 1] = ends[move.namespace] or move.head
  answer[#answer + 1] = move.moved and 1 or 0
end
answer[#answer + 1] = stands
return answer
