-- Workspaces.commit and Items.change in one atomic step. It is a script because what is checked must still hold when it is written,
-- and because many keys change together. Answers whether the space is new, and per commit 1, its time and its versions; or 0 and
-- the places of the checks that failed.
local id, isRepeat = arg(), arg() == "1"
local todo = list(function()
  return {
    id = arg(),
    checks = list(function() return { address = arg(), version = number() } end),
    changes = list(function()
      return { as = arg(), address = arg(), ttl = tonumber(arg()), noted = arg() == "1", body = arg(),
        vectors = arg() }
    end),
  }
end)
local s = openSpace(id)
local isNew = not s.exists
-- Versions begin above every one that a reader may have seen before the space was deleted or lost, as revisions of threads do.
if isNew then s.v = nowUs() end

-- What is answered to a commit that was made already.
local function again(commit)
  local first = redis.call("ZSCORE", commits, commit.id)
  if not first or redis.call("ZCOUNT", log, first, "+inf") > 10000 then return nil end
  local following = redis.call("ZRANGEBYSCORE", commits, "(" .. first, "+inf", "WITHSCORES", "LIMIT", 0, 1)[2]
  local made = redis.call("ZRANGEBYSCORE", log, first, following and "(" .. following or "+inf")
  local answer, n = { 1, made[1] and tonumber(string.sub(made[1], -16, -2)) or s.at }, 0
  for place, change in ipairs(commit.changes) do
    if change.noted then n = n + 1 end
    answer[place + 2] = change.noted and made[n] and versionOf(made[n]) or 0
  end
  return answer
end

local function enter(change, version, kind)
  local entry = ((kind == "m" or kind == "n") and "m" or "i") .. change.address .. "\0" .. padded(version) .. string.format("%015.0f", s.at) .. kind
  redis.call("ZADD", log, digits(version), entry)
  redis.call("ZADD", history, 0, entry)
  s.l, s.w = s.l + 1, version
end

local function make(commit)
  local failed = { 0 }
  for n, check in ipairs(commit.checks) do
    local item = itemAt(check.address)
    if (isLive(item) and item.version or 0) ~= check.version then failed[#failed + 1] = n - 1 end
  end
  if #failed > 1 then return failed end
  for _, change in ipairs(commit.changes) do
    if change.as ~= "message" and change.as ~= "note" then change.item = itemAt(change.address) end
  end
  s.at = math.max(nowMs, s.at)
  local answer, first = { 1, s.at }, nil
  for n, change in ipairs(commit.changes) do
    local isSilent = change.as == "touch" or (change.as == "delete" and not change.noted)
    if not isSilent then s.v = s.v + 1 end
    answer[n + 2] = isSilent and 0 or s.v
    first = first or (not isSilent and change.noted and s.v or nil)
  end
  -- Delete first: a full server refuses a first write that needs memory, and accepts one that frees it.
  for _, change in ipairs(commit.changes) do
    if change.as == "delete" and change.item then removeItem(s, change.address, change.item) end
  end
  for n, change in ipairs(commit.changes) do
    local version, before = answer[n + 2], change.item
    local created = isLive(before) and before.created or digits(s.at)
    local expires = change.ttl and nowMs + change.ttl
    if change.as == "touch" then
      if isLive(before) then
        putItem(s, change.address, before, { version = before.version, created = created, updated = before.updated, expires = expires,
          logged = before.logged })
      end
    elseif version > 0 and (change.noted or change.as == "put") then
      redis.call("HSET", space, "B" .. digits(version), created .. ":" .. change.body)
      if change.vectors ~= "" then redis.call("HSET", space, "V" .. digits(version), change.vectors) end
      if change.as == "put" then
        putItem(s, change.address, before, { version = version, created = created, updated = digits(s.at), expires = expires,
          logged = change.noted and "L" or "" })
      end
      if change.noted then enter(change, version, string.sub(change.as, 1, 1)) end
    end
  end
  if first then
    s.c = s.c + redis.call("ZADD", commits, digits(first), commit.id) - redis.call("ZREMRANGEBYRANK", commits, 0, -10001)
  end
  saveSpace(s)
  return answer
end

local answers = {}
for n, commit in ipairs(todo) do answers[n] = isRepeat and again(commit) or make(commit) end
return { isNew and 1 or 0, answers }
