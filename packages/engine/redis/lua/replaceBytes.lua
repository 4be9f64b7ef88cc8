-- BytesReplacer.replaceBytes in one atomic step: only if the thread is still at the revision at which the bytes were read. What
-- precedes the bytes in a field stays. Nothing that a writer relies on goes, so this doesn't count as a removal.
local id, revision = arg(), number()
local records = list(function() return { key = arg(), body = arg() } end)
local writes = list(function() return { key = arg(), place = number(), body = arg() } end)
local blobs = list(function() return { hash = arg(), bytes = arg() } end)

-- The value of a field up to its last part, which begins after `strings` strings.
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
local stands = string.match(redis.call("HGET", thread, "q") or "", "^" .. string.format("%.0f", meta.revBefore) .. ":(.)$")
if stands then redis.call("HSET", thread, "q", string.format("%.0f:%s", meta.rev, stands)) end
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
return meta.rev
