-- BytesReplacer.replaceBytes in one atomic step: only if the thread still is at the revision at which the bytes were read. What
-- stands in front of the bytes stays. Nothing that a writer relies on goes, so it counts as no removal.
local id, revision = arg(), number()
local records = list(function() return { key = arg(), body = arg() } end)
local writes = list(function() return { key = arg(), place = number(), body = arg() } end)
local blobs = list(function() return { hash = arg(), bytes = arg() } end)

-- The value of a field without its last part, which begins after so many texts.
local function front(value, texts)
  local at = 1
  for _ = 1, texts do _, at = text(value, at) end
  return string.sub(value, 1, at - 1)
end

local function replace(field, texts, body)
  local value = redis.call("HGET", thread, field)
  if value then redis.call("HSET", thread, field, front(value, texts) .. body) end
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
    blob.base = small and text(small, 1) or redis.call("HGET", thread, "P" .. blob.hash) or ""
    drop(blob.hash)
    store(blob)
  end
end
return meta.rev
