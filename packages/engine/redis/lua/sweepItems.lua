-- Removes items of a space whose time to live has passed, at most 500. Answers how many.
local s = openSpace(arg())
local expired = redis.call("ZRANGEBYSCORE", expiring, "-inf", digits(nowMs), "LIMIT", 0, 500)
for _, address in ipairs(expired) do
  removeItem(s, address, itemAt(address) or damaged("an item isn't there"))
end
if #expired > 0 then saveSpace(s) end
return #expired
