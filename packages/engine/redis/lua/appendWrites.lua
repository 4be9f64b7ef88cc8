-- Tier.appendWrites in one atomic step. It is a script because the check whether the writer is late belongs to the same step as the write.
local id, ttl, seen, continues, relies = arg(), number(), arg(), arg() == "1", arg() == "1"
local blobs = list(takeBlob)
local batch = takeBatch()

local meta = open(id)
local refusal = late(meta, ttl, seen, continues, relies, { blobsOfBatch(batch.value, 1) }, blobs)
if refusal then return refusal end

bump(meta)
local due = save(meta, id, false)
addBlobs(blobs)
addBatch(meta, batch)
local changes
if string.sub(batch.key, -2) == separator and batch.outcome ~= "n" then changes = batch.outcome == "e" and "end" or "all" end
local stands = stamp(meta, changes, due)
expire(meta, ttl)
return { "ok", meta.rev, due, stands }
