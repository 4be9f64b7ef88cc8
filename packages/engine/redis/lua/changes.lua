-- What append, appendWrites, adopt and paste share; scripts.ts puts it between common.lua and each of them.
local function takeBatch()
  return { key = arg(), value = arg(), outcome = arg() }
end

-- Returns the refusal if the writer is late, or read a later revision than there is, because the server was set back; nil otherwise.
-- With a `ttl`, a thread that isn't here has expired rather. `names` are lists of blobs that the writer sends or relies on. They
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
  if string.sub(batch.key, -2) == separator then
    local outcome = lengthPrefixed((readString(batch.value, 1))) .. (batch.outcome == "" and "?" or batch.outcome)
    redis.call("HSET", thread, "o" .. batch.key, (redis.call("HGET", thread, "o" .. batch.key) or "") .. outcome)
  end
end
