import { setTimeout } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createWorkspace } from "@stratigraph/workspace";
import { syncMemory } from "@stratigraph/workspace/mcp";
import { createCheckpointer } from "stratigraph";

// One agent, in a process of its own: agent.ts <role> <url>. It knows nothing but the memory's address, and may be killed at any time.
const [role = "", url = ""] = process.argv.slice(2);
// #region cache
const checkpointer = await createCheckpointer({ memory: true }); // or a folder: { pglite: ".memory" }
const cache = createWorkspace(checkpointer, "cache", { agent: role });

const client = new Client({ name: role, version: "1.0.0" });
const headers = { authorization: `Bearer ${process.env["MEMORY_TOKEN"]}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
// #endregion

interface Ticket {
  readonly status: "new" | "triaged" | "answered" | "done";
  readonly text: string;
  readonly topic?: string;
}

interface Item {
  readonly key: string;
  readonly version: number;
  readonly value: Ticket;
}

/** What a model would say; the same each time. */
const topicOf = (text: string): string => (text.includes("invoice") ? "billing" : "technical");
const answerTo = ({ topic, text }: Ticket): string => `${topic}: about "${text}"`;

const tickets = ["shared", "tickets"];

async function call<T>(name: string, args: object): Promise<T> {
  const { isError, content, structuredContent } = await client.callTool({ name, arguments: { ...args } });
  if (isError === true) throw new Error(JSON.stringify(content));
  return structuredContent as T;
}

/** The step of a ticket that is this role's, if it has one. Each writes only what nobody, not even this agent before it was killed, has. */
async function work({ key, version, value }: Item): Promise<void> {
  if (role === "triage" && value.status === "new") {
    const triaged = { ...value, status: "triaged", topic: topicOf(value.text) };
    await call("memory_put", {
      namespace: tickets,
      key,
      value: triaged,
      ifVersion: version,
      reason: "read it",
    });
  }
  if (role === "specialist" && value.status === "triaged") {
    const answer = { text: answerTo(value) };
    const namespace = ["shared", "answers"];
    // The ticket's id is the answer's: an answer that is there already isn't given again.
    await call("memory_put", { namespace, key, value: answer, ifVersion: 0, reason: value.topic });
    if (key === process.env["DIES_AT"]) await setTimeout(60_000); // it is killed meanwhile
    const answered = { ...value, status: "answered" };
    await call("memory_put", {
      namespace: tickets,
      key,
      value: answered,
      ifVersion: version,
      reason: "knew it",
    });
  }
}

/** The reviewer has a cache of its own: it reads and writes there, whether the server is there or not, and syncs now and then. */
async function review(): Promise<boolean> {
  const { failed } = await syncMemory(cache, client);
  if (failed.length > 0) throw failed[0]!.error;
  for (const { key, value, version } of await cache.search(tickets, {
    limit: 100,
    filter: { status: "answered" },
  })) {
    const answer = await cache.get(["shared", "answers"], key);
    if (!String(answer?.value["text"]).startsWith(String(value["topic"])))
      throw new Error(`wrong answer to ${key}`);
    await cache.put(tickets, key, { ...value, status: "done" }, { ifVersion: version, reason: "read twice" });
  }
  await cache.put(["agents", "reviewer"], "progress", { done: (await doneIn(cache)).length });
  await syncMemory(cache, client);
  return (await doneIn(cache)).length === Number(process.env["TICKETS"]);
}

async function doneIn(memory: typeof cache): Promise<unknown[]> {
  return await memory.search(tickets, { limit: 100, filter: { status: "done" } });
}

for (;;) {
  const { items } = await call<{ items: Item[] }>("memory_search", { prefix: tickets, limit: 100 });
  for (const item of items) await work(item);
  const isDone = items.length > 0 && items.every(({ value }) => value.status === "done");
  if (role === "reviewer" ? await review() : isDone) break;
  await setTimeout(50);
}
await checkpointer.end();
await client.close();
