-- Stores one piece of a copy that is being gathered: puts fields into a hash (KEYS[1]) and the keys of records into a sorted
-- set (KEYS[2]), which no reader looks at. It is a script so that both keys expire from the first piece on, also when the copying
-- process dies. Answers how many fields, records and heads were added.
local livesMs = number()
local fields, records, heads = 0, 0, 0
for _ = 1, number() do
  local field, value = arg(), arg()
  local added = redis.call("HSET", thread, field, value)
  local kind = string.sub(field, 1, 1)
  fields = fields + added
  if kind == "r" then
    records = records + added
    redis.call("ZADD", index, 0, string.sub(field, 2))
  elseif kind == "h" then
    heads = heads + added
  end
end
redis.call("PEXPIRE", thread, livesMs)
redis.call("PEXPIRE", index, livesMs)
return { fields, records, heads }
