-- Items.read in one round trip. It is a script because the server's clock decides which items have expired.
local id, all = arg(), arg() == "1"
bodies.all = all
openSpace(id)
local found = {}
for n, address in ipairs(list(arg)) do
  local item = itemAt(address)
  found[n] = isLive(item) and { item.header, body(item.version) }
end
return { found, bodies.named }
