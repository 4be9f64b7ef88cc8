-- What inspect and mend share; scripts.ts puts it between common.lua and each of them. Looks at the names of all fields of the
-- thread, at none of the values of records, blobs and batches, and works where open() stops.
local function survey(id)
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
end
