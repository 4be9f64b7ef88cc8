import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { expect, it } from "vitest";
import { decodeEntry, decodePayload, journalNamespace } from "../src/log/records.ts";
import type { Payload } from "../src/log/entry.ts";
import { putEntry } from "./support/putEntry.ts";

const config = { configurable: { thread_id: "t" } };
const keys = { "2025": "a secret of the year 2025", "2026": "a secret of the year 2026" };
const old = { keys: { "2025": keys["2025"] }, activeKey: "2025" };
const rotated = { keys, activeKey: "2026" };

it.each(["result", "args"] as const)(
  "%s that were changed beside their entry aren't given out",
  async (field) => {
    const saver = new MemorySaver();
    const pay = { id: "pay 5", tool: "pay", args: { amount: 5 } };
    const journal = createJournal(saver);
    await journal.run(config, pay, () => "receipt 5");
    const unknown = { id: "pay 6", tool: "pay", args: { amount: 6 } };
    await expect(
      journal.run(config, unknown, () => Promise.reject(new Error("the line was cut"))),
    ).rejects.toThrow();
    const others = new MemorySaver();
    const forger = createJournal(others);
    await forger.run(config, pay, () => "receipt 7");
    await forger.run(config, { id: "pay 7", tool: "pay", args: { amount: 7 } }, () => "receipt 7");
    // What stands beside each entry is replaced by what stands beside the forger's, with checksums that are right.
    const forged = new MemorySaver();
    const payloads = (await entriesOf(others)).map(({ payload }) => payload);
    for (const [n, { record, entry, payload }] of (await entriesOf(saver)).entries()) {
      const change: Payload = payload[field] === undefined ? {} : { [field]: payloads[n]![field] };
      const { checkpointId, parentId } = record;
      const heads = [
        { namespace: journalNamespace, to: checkpointId, expected: parentId === undefined ? [] : [parentId] },
      ];
      await putEntry(forged, { checkpointId, parentId }, entry, { ...payload, ...change }, heads);
    }
    const reader = createJournal(forged);
    const ran: string[] = [];
    const again =
      field === "result"
        ? reader.run(config, pay, () => void ran.push("5"))
        : reader.run(
            config,
            { ...unknown, reconcile: ({ args }) => void ran.push(JSON.stringify(args)) },
            () => void ran.push("6"),
          );
    await expect(again).rejects.toMatchObject({ code: "JOURNAL_BROKEN" });
    expect(ran).toEqual([]);
  },
);

it("a call that nobody knows the outcome of stays blocked after a change of keys", async () => {
  const saver = new MemorySaver();
  const made: string[] = [];
  const journal = createJournal(saver, { sign: old });
  const pay = (input: string) =>
    [
      { configurable: { thread_id: "t" }, state: input },
      { id: "pay 5", tool: "pay", args: { amount: 5 } },
    ] as const;
  await expect(
    journal.run(...pay("first"), () => {
      made.push("first");
      throw new Error("the line was cut");
    }),
  ).rejects.toThrow("cut");
  await journal.end();
  const later = createJournal(saver, { sign: rotated });
  await expect(later.run(...pay("second"), () => void made.push("second"))).rejects.toMatchObject({
    code: "AMBIGUOUS_OUTCOME",
  });
  await later.end();
  expect(made).toEqual(["first"]);
});

async function entriesOf(saver: MemorySaver) {
  const found = [];
  for await (const stored of saver.tier.list({ threadId: "t", namespace: journalNamespace })) {
    const entry = await decodeEntry(saver, stored.record);
    found.unshift({ record: stored.record, entry, payload: await decodePayload(saver, stored) });
  }
  return found;
}

it("who has no key can't confirm a guess of short arguments by their hash", async () => {
  const hashes = async (sign?: typeof old) => {
    const saver = new MemorySaver();
    await createJournal(saver, sign === undefined ? {} : { sign }).run(
      config,
      { id: "pay 5", tool: "pay", args: { amount: 5 } },
      () => "paid",
    );
    return (await entriesOf(saver)).flatMap(({ entry: { event } }) => {
      const { argsHash, resultHash } = event as { argsHash?: string; resultHash?: string };
      return [argsHash, resultHash].filter((hash) => hash !== undefined);
    });
  };
  const [plain, again, signed] = [await hashes(), await hashes(), await hashes(old)];
  expect(again).toEqual(plain);
  expect(signed.length).toBe(plain.length);
  expect(signed.filter((hash) => plain.includes(hash))).toEqual([]);
});
