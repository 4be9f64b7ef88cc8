-- Items.read in one round trip. It is a script because the server's clock decides which items have expired, and because an item that gets
-- its time to live anew must still be there.
local id, all = arg(), arg() == "1"
bodies.all = all
local s = openSpace(id)
local found = {}
for n, read in ipairs(list(function() return { address = arg(), refresh = tonumber(arg()) } end)) do
  local item = itemAt(read.address)
  found[n] = isLive(item) and { item.header, body(item.version) }
  if found[n] and item.expires and read.refresh and item.expires - nowMs <= 0.9 * read.refresh then
    putItem(s, read.address, item, { version = item.version, created = item.created, updated = item.updated,
      expires = nowMs + read.refresh, logged = item.logged })
  end
end
return { found, bodies.named }
