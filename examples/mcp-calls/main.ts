import { equal } from "node:assert/strict";

// #region start
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { createJournal } from "@stratigraph/journal";
import { wrapServer } from "@stratigraph/journal/mcp";
import { createCheckpointer } from "stratigraph";
import { z } from "zod";

const checkpointer = await createCheckpointer({ memory: true });
const journal = createJournal(checkpointer);
const seats: string[] = [];

/** The server, as each process starts it. */
function boxOffice(calls: Pick<typeof journal, "run"> = journal) {
  const server = new McpServer({ name: "box-office", version: "1.0.0" });
  wrapServer(server, {
    journal: calls,
    thread: "box office",
    tools: { book: "once", free: "none" },
    state: () => ({ seats: [...seats] }),
  });
  server.registerTool("book", { inputSchema: z.object({ name: z.string() }) }, ({ name }) => {
    seats.push(name); // the seat is sold
    return { content: [{ type: "text", text: `seat ${seats.length}` }] };
  });
  server.registerTool("free", {}, () => ({ content: [{ type: "text", text: `${100 - seats.length}` }] }));
  return server;
}

/** A client of the server, which makes one call. */
async function book(server: McpServer, name: string, call: string) {
  const client = new Client({ name: "guest", version: "1.0.0" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  const _meta = { "dev.stratigraph/call": call };
  const { content } = await client.callTool({ name: "book", arguments: { name }, _meta });
  await client.close();
  return content[0]?.type === "text" ? content[0].text : "";
}

const first = await book(boxOffice(), "Ada", "order 1");
const again = await book(boxOffice(), "Ada", "order 1"); // the answer was lost, so the client repeats its call
const other = await book(boxOffice(), "Bob", "order 2");
console.log(`${first}, ${again}, ${other}: ${seats.length} seats are sold`);

// The state of the server before and after each call.
for await (const { checkpoint } of checkpointer.list({ configurable: { thread_id: "box office" } }))
  console.log(checkpoint.channel_values);

// The same calls on the recorded results: nobody books anything.
const replay = await journal.replay("box office");
const replayed = await book(boxOffice(replay), "Bob", "order 2");
console.log(`${replayed} again; ${seats.length} seats are sold`);
// #endregion

equal(`${first}, ${again}, ${other}`, "seat 1, seat 1, seat 2");
equal(replayed, "seat 2");
equal(seats.length, 2);
await journal.end();
await checkpointer.end();
