/**
 * The service of this folder on the embedded default, for a look: a question, a refund, a refund that a person has to allow, and a
 * shutdown. `service/serve.ts` is what runs in production; README.md tells how.
 */
import { strict as assert } from "node:assert";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { observe } from "@stratigraph/service";
import * as prometheus from "prom-client";
import { createCheckpointer } from "stratigraph";
import { createApp } from "./service/app.ts";

const folder = mkdtempSync(join(tmpdir(), "production-"));
const paid: number[] = [];
const telemetry = observe({ prometheus });
const checkpointer = await createCheckpointer({ warm: `pglite:${join(folder, "db")}`, hot: "memory:" });
const { app, service } = await createApp({
  checkpointer,
  telemetry,
  payBack: async ({ amount }) => {
    paid.push(amount);
    return `${amount} EUR were paid back`;
  },
  metrics: async () => ({
    contentType: prometheus.register.contentType,
    body: await prometheus.register.metrics(),
  }),
});

interface Shown {
  messages: { role: string; text: string }[];
  documents: string[];
  questions: { id: string; tool: string; args: unknown }[];
}

/** Posts as the user Ada, and gives the state at the end of the stream. */
async function post(path: string, body: object): Promise<Shown> {
  const headers = { "x-user-id": "ada", "content-type": "application/json" };
  const answer = await app.request(path, { method: "POST", headers, body: JSON.stringify(body) });
  const events = await answer.text();
  assert.equal(answer.status, 200, events);
  const [, state] = /event: state\ndata: (.*)/.exec(events) ?? [];
  assert(state !== undefined, events);
  return JSON.parse(state) as Shown;
}

try {
  const first = await post("/threads/1/messages", {
    id: "m-1",
    text: "How long does shipping of parcels take?",
  });
  console.log(`Ada asks; the agent: ${first.messages.at(-1)!.text}`);
  assert.match(first.messages.at(-1)!.text, /3 working days.*\[shipping-3\]/);
  assert.equal(first.documents[0], "shipping-3");

  const wish = { id: "m-2", text: "Please refund 20 EUR." };
  const second = await post("/threads/1/messages", wish);
  console.log(`Ada wants 20 EUR back; the agent: ${second.messages.at(-1)!.text}`);
  assert.deepEqual(await post("/threads/1/messages", wish), second);
  console.log("Ada's client sends that again, as if the answer had been lost: it is told the same.");
  assert.deepEqual(paid, [20]);

  const third = await post("/threads/1/messages", { id: "m-3", text: "Please refund 500 EUR." });
  const [question] = third.questions;
  assert.equal(question?.tool, "refund");
  console.log(`Ada wants 500 EUR back; a person is asked: ${JSON.stringify(question.args)}`);
  const fourth = await post("/threads/1/answers", { id: question.id, allow: true });
  console.log(`A person allows it; the agent: ${fourth.messages.at(-1)!.text}`);
  assert.deepEqual(paid, [20, 500]);
  assert.equal((await app.request("/threads/1", { headers: { "x-user-id": "../eve" } })).status, 400);

  const ready = await app.request("/readyz?verbose");
  console.log(`/readyz: ${ready.status} ${await ready.text()}`);
  const metrics = await (await app.request("/metrics")).text();
  const nodes = metrics
    .split("\n")
    .filter((line) => line.startsWith("stratigraph_node_duration_seconds_count"));
  console.log(`/metrics, among others:\n  ${nodes.join("\n  ")}`);
  assert(nodes.some((line) => line.includes('node="model",outcome="ok"')));

  const report = await service.drain();
  console.log(`Shut down: ${report.steps.map(({ step }) => step).join(", ")}`);
  assert(report.ok, JSON.stringify(report));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
