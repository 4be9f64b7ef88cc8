import { createServer } from "node:http";

// An instance that answers with its name.

const [name = ""] = process.argv.slice(2);

const server = createServer((request, response) => {
  request.resume();
  response.end(name);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" ? address?.port : 0 });
});
