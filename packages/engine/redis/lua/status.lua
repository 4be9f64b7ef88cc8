-- How a thread stands; scripts.ts puts it between changes.lua, or common.lua, and each script that changes what a thread has. A letter: w a
-- question waits, f a task failed, d a step is due, i idle, ? not known. The thread keeps it as q, with the revision that it is of: a script
-- of an older version leaves another revision, and the letter counts no more. The terms are those of core's threadStatus.ts.
local function standsNow()
  local head = redis.call("HGET", thread, "h")
  if not head then return "i" end
  local key = head .. separator
  local record = get("r" .. key)
  if not record then return "?" end
  local outcomes, many = redis.call("HGET", thread, "o" .. key) or "", count(redis.call("HGET", thread, "c" .. key), "c" .. key)
  local last, met, at = {}, 0, 1
  while at <= #outcomes do
    reading = "o" .. key
    local task
    task, at = readString(outcomes, at)
    local outcome = string.sub(outcomes, at, at)
    at, met = at + 1, met + 1
    if outcome == "?" then return "?" end
    if outcome == "A" then
      -- Who still asks does so again in the run that takes the answer.
      for asked, was in pairs(last) do if was == "w" then last[asked] = "a" end end
    elseif outcome ~= "n" then
      last[task] = outcome
    end
  end
  if met ~= many then return "?" end
  local failed = false
  for _, outcome in pairs(last) do
    if outcome == "w" then return "w" end
    failed = failed or outcome == "f"
  end
  if failed then return "f" end
  local _, after = readString(record, 1)
  local terms = parseRecord(record, after).terms
  if string.find(terms, ",1376439968,", 1, true) then return "i" end
  if string.find(terms, ",806444692,", 1, true) then return "d" end
  return "?"
end

-- Keeps how a thread stands after a change. `changes`: "all" if it may stand otherwise now, "end" if a task ended. Answers the letter and when
-- the thread was last written, for the index of those that aren't idle; empty if that knows it already.
local function stamp(meta, changes, due)
  local rev, before = string.match(redis.call("HGET", thread, "q") or "", "^(%d+):(.)$")
  if not rev or tonumber(rev) ~= meta.revBefore then before = nil end
  local now = before
  if not before or before == "?" or changes == "all" or (changes == "end" and (before == "w" or before == "f")) then now = standsNow() end
  redis.call("HSET", thread, "q", string.format("%.0f:%s", meta.rev, now))
  if now == before and due == 0 then return "" end
  return now .. string.format("%.0f", meta.at)
end
