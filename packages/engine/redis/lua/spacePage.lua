-- A page of the addresses of a range, with their versions; or of log entries. Answers also the newest version, and up to which the log was
-- trimmed.
local id, isLog, from, to = arg(), arg() == "1", arg(), arg()
local s = openSpace(id)
local page = redis.call("ZRANGEBYLEX", isLog and history or order, from, to, "LIMIT", 0, maxLooked)
return { page, not isLog and #page > 0 and redis.call("ZMSCORE", newest, unpack(page)) or {}, digits(isLog and s.w or s.v),
  digits(s.t) }
