/**
 * Three agents of a support team, each in a process of its own, share one memory over MCP: the first sorts tickets, the second answers them, the
 * third reviews the answers, with an offline cache of its own. The second one is killed between an answer and its note that the ticket is
 * answered, and started again: no ticket is lost, and none is answered twice.
 */
import { strict as assert } from "node:assert";
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createMcp } from "@stratigraph/cli/mcp";
import { createWorkspace } from "@stratigraph/workspace";
import { createCheckpointer } from "stratigraph";

const asked = ["My invoice is wrong", "It crashes at the start", "Where is my invoice?", "It is slow"];
const roles = ["triage", "specialist", "reviewer"];

const checkpointer = await createCheckpointer({ memory: true });
const desk = createWorkspace(checkpointer, "support", { agent: "desk" });

// What `stratigraph inspect` serves at /mcp/workspaces/support. Each agent is who its token says.
const tokens = roles.map((name) => ({
  name,
  token: randomBytes(24).toString("hex"),
  allow: ["read", "write"] as const,
}));
const mcp = createMcp({ saver: checkpointer, allow: ["read", "write"], tokens });
const server = createServer((incoming, outgoing) => {
  void (async () => {
    const body = incoming.method === "POST" ? await text(incoming) : null;
    const headers = incoming.headers as Record<string, string>;
    const url = `http://127.0.0.1${incoming.url}`;
    const request = new Request(url, { method: incoming.method ?? "GET", headers, body });
    const response = await mcp.fetch(request, { workspace: "support" });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  })();
}).listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

for (const [n, ticket] of asked.entries())
  await desk.put(["shared", "tickets"], `T${n + 1}`, { status: "new", text: ticket });

const team = new Map(roles.map((role) => [role, start(role, role === "specialist" ? "T2" : "")]));
let isKilled = false;
for await (const event of desk.watch({ since: 0 })) {
  if (!("key" in event)) continue;
  const { author, namespace, key, reason = "" } = event;
  console.log(`${String(author.agent).padEnd(11)}${namespace.slice(1).join("/")}/${key}  ${reason}`);
  if (!isKilled && namespace[1] === "answers" && key === "T2") {
    isKilled = true;
    const specialist = team.get("specialist")!;
    specialist.kill("SIGKILL");
    await ended(specialist);
    const ticket = await desk.get(["shared", "tickets"], "T2");
    assert.equal(ticket?.value["status"], "triaged"); // in the middle: there is an answer, but no note of it
    console.log("           the specialist is killed, and started again");
    team.set("specialist", start("specialist"));
  }
  const done = await desk.search(["shared", "tickets"], { filter: { status: "done" } });
  if (done.length === asked.length) break;
}
for (const [role, agent] of team) assert.equal(await ended(agent), 0, `${role} failed`);
assert.ok(isKilled);

// Each ticket went from hand to hand once, and has one answer.
for (const [n, ticket] of asked.entries()) {
  const steps: unknown[] = [];
  for await (const event of desk.history(["shared", "tickets"], `T${n + 1}`))
    steps.unshift([event.author.agent, event.kind === "put" && event.value["status"]]);
  assert.deepEqual(steps, [
    ["desk", "new"],
    ["triage", "triaged"],
    ["specialist", "answered"],
    ["reviewer", "done"],
  ]);
  const answers: unknown[] = [];
  for await (const event of desk.history(["shared", "answers"], `T${n + 1}`))
    answers.push(event.kind === "put" && event.value["text"]);
  assert.deepEqual(answers, [`${ticket.includes("invoice") ? "billing" : "technical"}: about "${ticket}"`]);
}
const progress = await desk.get(["agents", "reviewer"], "progress");
assert.deepEqual(progress?.value, { done: asked.length });
console.log(`\n${asked.length} tickets, each answered once`);

server.close();
await mcp.end();
await checkpointer.end();

function start(role: string, diesAt = ""): ChildProcess {
  const { token } = tokens.find(({ name }) => name === role)!;
  const program = join(import.meta.dirname, "agent.ts");
  const args = ["--import", "tsx", "--conditions=@stratigraph/source", program, role, url];
  const env = { ...process.env, MEMORY_TOKEN: token, TICKETS: String(asked.length), DIES_AT: diesAt };
  return spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"], env });
}

async function ended(agent: ChildProcess): Promise<number | null> {
  if (agent.exitCode === null && agent.signalCode === null) await once(agent, "exit");
  return agent.exitCode;
}
