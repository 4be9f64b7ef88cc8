/**
 * What an operator does with a journal: look at what happened, answer for a call whose outcome nobody knows, prove that the record is whole,
 * erase and shorten it. Then what is built on it: a transaction that is undone, a long job, and state made of events.
 */
import { strict as assert } from "node:assert";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, END, isInterrupted, START, StateGraph } from "@langchain/langgraph";
import {
  batch,
  createJournal,
  events,
  readTrail,
  RolledBackError,
  transaction,
  VersionConflictError,
  verifyTrail,
} from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";

const folder = mkdtempSync(join(tmpdir(), "journal-tour-"));
const file = join(folder, "ada.jsonl");
const sign = { keys: { "2026": new Uint8Array(32).fill(7) }, activeKey: "2026" };

await using checkpointer = await createCheckpointer({ memory: true });
await using journal = createJournal(checkpointer, { sign, author: "travel agent" });

/** What the bank saw. */
const bank: string[] = [];
let lineIsDown = false;

// #region compensate
/** Undoes a payment. One function serves all of them, also in a later process: what it needs is in the result and the arguments. */
const refund = (result: unknown, args: unknown) => {
  bank.push(`refund ${(args as { item: string }).item}, ${String(result)}`);
};
// #endregion

const graph = new StateGraph(Annotation.Root({ item: Annotation<string> }))
  .addNode("book", async ({ item }, config) => {
    await journal.run(config, { id: "pay", args: { item }, compensate: refund }, () => {
      bank.push(`pay ${item}`);
      if (lineIsDown) throw new Error("the line broke before the bank answered");
      return `receipt for ${item}`;
    });
    return {};
  })
  .addEdge(START, "book")
  .addEdge("book", END)
  .compile({ checkpointer });
const ada = { configurable: { thread_id: "ada" } };

try {
  await graph.invoke({ item: "flight" }, ada);
  const afterTheFlight = new Date();

  lineIsDown = true;
  await assert.rejects(graph.invoke({ item: "hotel" }, ada), /the line broke/);
  lineIsDown = false;
  const stopped: unknown = await graph.invoke(null, ada);
  assert(isInterrupted(stopped));
  assert.deepEqual(bank, ["pay flight", "pay hotel"]);

  console.log("Nobody knows what became of:");
  // #region resolve
  for await (const call of journal.unresolved("ada")) {
    console.log(`  ${call.tool}(${JSON.stringify(call.args)}): ${call.why}`);
    await journal.resolve(call.fingerprint, {
      threadId: "ada",
      happened: true, // somebody looked at the bank's account
      result: "receipt for hotel",
      author: "ops",
    });
  }
  // #endregion
  await graph.invoke(null, ada);
  assert.deepEqual(bank, ["pay flight", "pay hotel"]);
  console.log("  ops answered, the run went on, and the hotel was paid once.");

  console.log("\nWhat happened:");
  // #region trail
  for await (const { seq, at, author, event, args } of journal.trail("ada", { tool: "pay" }))
    console.log(`  ${seq} ${at} ${event.type} ${JSON.stringify(args) ?? ""} (${author})`);
  // #endregion

  // #region at
  const then = await journal.at("ada", afterTheFlight);
  const state = await graph.getState(then.checkpoint!);
  // #endregion
  assert.equal(state.values.item, "flight");

  // #region export
  const head = await journal.head("ada"); // { seq, hash }: keep it where nobody who writes to the storage can change it
  await journal.export("ada", file);

  // Elsewhere, with the file, the head and the keys; no storage is needed.
  const verified = await verifyTrail(file, { head, sign });
  for await (const { seq, event, args } of readTrail(file))
    if (args !== undefined) console.log(`  exported: ${seq} ${event.type} ${JSON.stringify(args)}`);
  // #endregion
  assert(verified.ok, JSON.stringify(verified));
  const stored = await journal.verify("ada", { head });
  assert(stored.ok);
  console.log(`\nThe record is whole: ${verified.entries} entries.`);

  // #region erase
  await journal.erase("ada", { before: afterTheFlight, author: "privacy" });
  await journal.cut("ada", { before: afterTheFlight, author: "retention" });
  // #endregion
  assert((await journal.verify("ada")).ok);
  console.log("What was paid for the flight is erased and cut off; the rest can still be verified.");

  // #region transaction
  const booking = transaction(
    checkpointer,
    "ada",
    async (tx) => {
      await graph.invoke({ item: "car" }, tx.config);
      await graph.invoke({ item: "insurance" }, tx.config);
      throw new Error("no seat left");
    },
    { journal },
  );
  // #endregion
  const error: unknown = await booking.catch((thrown: unknown) => thrown);
  assert(error instanceof RolledBackError);
  assert.deepEqual(bank.slice(2), [
    "pay car",
    "pay insurance",
    "refund insurance, receipt for insurance",
    "refund car, receipt for car",
  ]);
  assert.equal((await graph.getState(ada)).values.item, "hotel");
  console.log(
    `\nA transaction failed. Undone: ${error.report.undone.length} payments; the thread is as before.`,
  );

  const mailed: string[] = [];
  const invoices = [{ number: "A1" }, { number: "A2" }, { number: "A3" }];
  let full = true;
  const send = async ({ number }: { number: string }) => {
    if (number === "A2" && full) throw new Error("the mailbox is full");
    mailed.push(number);
  };
  const remind = () =>
    // #region batch
    batch(
      journal,
      { configurable: { thread_id: "reminders" } },
      invoices,
      { id: "reminders of May", key: ({ number }) => number, effects: "idempotent", recordEvery: 50 },
      (invoice) => send(invoice),
    );
  // #endregion
  const first = await remind();
  assert.deepEqual([first.done, first.failed], [2, 1]);
  full = false;
  const second = await remind();
  assert.deepEqual([second.done, second.before], [3, 2]);
  assert.deepEqual(mailed, ["A1", "A3", "A2"]);
  console.log(`\nA batch: ${first.done} of 3 at first, and only the one that failed when it was run again.`);

  // #region events
  const fold = (balance: number, { amount }: { amount: number }) => balance + amount;
  const account = events(checkpointer, fold, { initial: 0 });
  await account.append("account", { amount: 50 }, { key: "request 1" });
  await account.append("account", { amount: 50 }, { key: "request 1" }); // the same request twice: nothing is appended
  const { state: balance, version } = await account.project("account");
  if (balance >= 20) await account.appendIf("account", version, { amount: -20 });
  // #endregion
  assert.equal((await account.project("account")).state, 30);
  await assert.rejects(account.appendIf("account", version, { amount: -20 }), VersionConflictError);
  console.log(
    "An account of events: 50 in, 20 out, 30 left; a second withdrawal on the old version was refused.",
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
