/**
 * Rules that live outside the program decide which calls may run: once in Cedar, which runs inside the process, and once in OPA, asked over
 * HTTP. Small payments pass, larger ones are put to a person, too large ones are refused, and a rule engine that fails refuses too.
 * Without OPA_URL, a stand-in answers in OPA's place (standIn.ts).
 */
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { Annotation, Command, END, isInterrupted, START, StateGraph } from "@langchain/langgraph";
import { CallDeniedError, createJournal, type ApprovalQuestion, type Policy } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";
import { cedarPolicy } from "./cedar.ts";
import { opaPolicy } from "./opa.ts";
import { startStandIn } from "./standIn.ts";

/** Makes payments under a policy. */
async function desk(policy: Policy) {
  const checkpointer = await createCheckpointer({ memory: true });
  const journal = createJournal(checkpointer, { policy, author: "desk" });
  const paid: number[] = [];
  const graph = new StateGraph(Annotation.Root({ cents: Annotation<number> }))
    .addNode("pay", async ({ cents }, config) => {
      await journal.run(config, { id: "pay", args: { cents } }, () => void paid.push(cents));
      return {};
    })
    .addEdge(START, "pay")
    .addEdge("pay", END)
    .compile({ checkpointer });
  const inThread = (cents: number) => ({ configurable: { thread_id: `payment of ${cents}` } });
  const end = async () => {
    await journal.end();
    await checkpointer.end();
  };
  return { paid, end, inThread, graph, pay: (cents: number) => graph.invoke({ cents }, inThread(cents)) };
}

async function refused(paying: Promise<unknown>): Promise<string> {
  const error: unknown = await paying.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert(error instanceof CallDeniedError, `it wasn't refused: ${String(error)}`);
  return error.message;
}

async function show(name: string, policy: Policy): Promise<void> {
  console.log(`\n${name}`);
  const { graph, pay, paid, inThread, end } = await desk(policy);
  await pay(10_000);
  assert.deepEqual(paid, [10_000]);
  console.log("  100 EUR:   paid");

  const stopped: unknown = await pay(80_000);
  assert(isInterrupted(stopped));
  const { id, reason } = stopped.__interrupt__[0]!.value as ApprovalQuestion;
  assert.deepEqual(paid, [10_000]);
  await graph.invoke(new Command({ resume: { id, allow: true, reason: "Petra" } }), inThread(80_000));
  assert.deepEqual(paid, [10_000, 80_000]);
  console.log(`  800 EUR:   stopped ("${reason}"), and paid after Petra allowed it`);

  const why = await refused(pay(600_000));
  assert.match(why, /no payment is over 5000 EUR/);
  console.log(`  6,000 EUR: ${why}`);
  assert.deepEqual(paid, [10_000, 80_000]);
  await end();
}

async function showFailure(what: string, policy: Policy, cents: number): Promise<void> {
  const { pay, paid, end } = await desk(policy);
  const why = await refused(pay(cents));
  assert.deepEqual(paid, []);
  console.log(`  ${what}: ${why}`);
  await end();
}

await show("Cedar", cedarPolicy);
await showFailure("12.5 cents, a number that Cedar can't read", cedarPolicy, 12.5);

const standIn = process.env["OPA_URL"] === undefined ? await startStandIn() : undefined;
const url = standIn?.url ?? process.env["OPA_URL"]!;
if (standIn === undefined) {
  const rego = readFileSync(new URL("desk.rego", import.meta.url), "utf8");
  const loaded = await fetch(new URL("/v1/policies/desk", url), { method: "PUT", body: rego });
  assert(loaded.ok, await loaded.text());
}
await show(
  standIn === undefined ? "OPA" : "OPA's HTTP API, spoken by a stand-in (OPA_URL isn't set)",
  opaPolicy(url),
);
await showFailure("no OPA listens there", opaPolicy("http://127.0.0.1:9"), 10_000);
standIn?.server.close();
