-- ThreadMender.mendThread in one atomic step: makes those of the thread's own fields anew that follow from the rest. Takes nothing
-- away. Answers how many were made anew.
local id = arg()
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
return #found.wrong
