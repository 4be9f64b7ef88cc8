/**
 * One agent tries three strategies in forks of one checkpoint, which run side by side and are compared in a table. The best one is
 * merged back into the thread, where the user went on meanwhile. Everything is stored in an embedded database, without a server.
 * The example asserts what it shows, and exits 0 only if that holds.
 */
import { strict as assert } from "node:assert";
import { HumanMessage } from "@langchain/core/messages";
import {
  compare,
  diff,
  forkMany,
  formatComparison,
  formatDiff,
  lineage,
  log,
  merge,
  undo,
} from "@stratigraph/branch";
import { PostgresSaver } from "@stratigraph/postgres";
import { strategies, tripAgent } from "./agent.ts";

const colour = process.stdout.isTTY && process.env["NO_COLOR"] === undefined;
const bold = (text: string): string => (colour ? `\u001B[1m${text}\u001B[0m` : text);
const say = (line = ""): void => void process.stdout.write(`${line}\n`);
const on = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });

const saver = PostgresSaver.embedded();
await saver.setup();
const graph = tripAgent(saver);

try {
  await graph.invoke(
    { messages: [new HumanMessage({ id: "ask", content: "A trip to Lisbon, please." })], strategy: "plan" },
    on("trip"),
  );

  say(bold("1. Three threads are forked from where the plan stands"));
  const names = ["cheapest", "central", "thorough"];
  // #region fork
  const forks = await forkMany(
    saver,
    { threadId: "trip" },
    names.map((name) => `trip/${name}`),
  );
  // #endregion
  await Promise.all(
    forks.map(({ threadId }, n) => {
      const ask = new HumanMessage({ id: `find-${names[n]!}`, content: "Find a place to stay." });
      return graph.invoke({ messages: [ask], strategy: names[n]!, step: 0 }, on(threadId));
    }),
  );
  // The user doesn't wait, and the thread itself goes on.
  await graph.updateState(
    on("trip"),
    { messages: [new HumanMessage({ id: "wish", content: "With a balcony." })] },
    "agent",
  );
  say((await log(saver, "trip")).text);
  say();

  say(bold("2. Side by side"));
  // #region compare
  const compared = await compare(
    saver,
    forks.map(({ threadId }) => threadId),
  );
  const table = formatComparison(compared);
  // #endregion
  say(table);
  const tools = Object.values(strategies).map((strategy) => strategy.tools[0]!);
  for (const [n, row] of table.split("\n").slice(1).entries()) {
    assert.match(row, new RegExp(`^trip/${names[n]!} +finished +\\d+ +${tools[n + 1]!}, .* [0-9.]+ m?s `));
    assert.ok(row.endsWith("a night"), "what it found stands in its row");
  }
  assert.equal(table.split("\n").length, 1 + names.length);
  assert.deepEqual(
    compared.threads.map(({ outcome, steps, tokens }) => [outcome, steps, tokens.total]),
    [
      ["finished", 6, 309],
      ["finished", 8, 520],
      ["finished", 12, 1452],
    ],
  );
  say();

  say(bold("3. The thorough one is best; what it would change"));
  const best = forks[2]!.threadId;
  const changes = await diff(saver, { threadId: "trip" }, { threadId: best });
  say(formatDiff(changes));
  say();

  say(bold("4. It is merged back, next to what the user said meanwhile"));
  // #region merge
  const result = await merge(graph, "trip", { threadId: best });
  // #endregion
  assert.equal(result.status, "merged");
  const { values, next } = await graph.getState(on("trip"));
  assert.equal(values.place, "Pensão Graça");
  assert.equal(values.price, 74);
  assert.deepEqual(next, []);
  const ids = values.messages.map(({ id }: { id?: string }) => id);
  assert.ok(ids.includes("wish") && ids.includes("find-thorough"), "both sides are there");
  assert.equal(new Set(ids).size, ids.length, "and nothing twice");
  assert.ok(!ids.includes("find-central"), "nothing of the others");
  for (const [n, message] of values.messages.entries())
    if (message.getType() === "tool")
      assert.equal(values.messages[n - 1]!.getType(), "ai", "answers follow their calls");
  say((await log(saver, "trip")).text);
  say();

  assert.equal((await merge(graph, "trip", { threadId: best })).status, "already-merged");
  assert.equal((await lineage(saver, best))[0]!.threadId, "trip");
  await undo(saver, "trip");
  assert.equal((await graph.getState(on("trip"))).values.place, undefined);
  await undo(saver, "trip");
  await graph.invoke(
    { messages: [new HumanMessage({ id: "thanks", content: "Thanks!" })], strategy: "plan", step: 2 },
    on("trip"),
  );
  assert.equal((await graph.getState(on("trip"))).values.messages.at(-2)!.id, "thanks");
  say("Merged, undone, done again, and the conversation went on. All of this was checked.");
} finally {
  await saver.end();
}
