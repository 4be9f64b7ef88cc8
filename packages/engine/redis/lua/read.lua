-- Tier.peek and Tier.read in one round trip: the head tells which record to read, and the record and each patch's base tell
-- which blobs. Answers revision, head, the namespace's copy, write batches, key and record; for a read also blobs. A read
-- leaves the record out if any blob is missing, so that a reader sees a whole checkpoint or none. Where there is no head, and no checkpoint
-- was asked for, the fourth answer is the last one: 1 if the head was lost.
local id, ttl, whole, namespace, wanted = arg(), number(), arg() == "1", arg(), arg()
local meta = open(id)
if not meta.exists then return { 0 } end
refresh(meta, ttl)
local head = redis.call("HGET", thread, "h" .. namespace)
local checkpoint = wanted ~= "" and wanted or head
local copy = copyOf(meta, namespace)
if not checkpoint then return { meta.rev, head, copy, headless(meta, namespace) and 1 or 0 } end
local key = checkpoint .. separator .. namespace
local record = get("r" .. key)
if not whole then return { meta.rev, head, copy, batches(key), key, record } end

if not record then return { meta.rev, head, copy } end
local blobs = collector()
local _, at = readString(record, 1)
collect(blobs, parseRecord(record, at).blobs)
local writes = batches(key, blobs)
if blobs.missing then return { meta.rev, head, copy } end
return { meta.rev, head, copy, writes, key, record, blobs.found, blobs.large }
