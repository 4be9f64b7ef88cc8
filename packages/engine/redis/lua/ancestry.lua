-- AncestryReader.ancestry: walks from a checkpoint to its parents until every seed term was met. It is a script because
-- each step needs the one before: a walk of n ancestors would cost n round trips. Blobs of records are answered only for
-- records with a seed term, blobs of writes always. A page is bounded like one of a list; the caller goes on from its last record.
local id, ttl, key, namespace, limit = arg(), number(), arg(), arg(), number()
local open_, opened = {}, 0
for _, term in ipairs(list(arg)) do
  open_[term] = true
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
  for term in string.gmatch(record.terms, "[^,]+") do
    if open_[term] ~= nil then seed = true end
    if open_[term] then
      open_[term] = false
      opened = opened - 1
    end
  end
  if seed then collect(blobs, record.blobs) end
  items[#items + 1] = { key, value, false, batches(key, blobs) }
  size = size + #value
end
return { 0, items, blobs.found, blobs.large }
