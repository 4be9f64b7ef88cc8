import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { runOperation, type RepairOutcome } from "../../../src/operations/index.ts";
import { testContext } from "../support/testContext.ts";
import { agent, line, on, operationNamed, repaired, turns, verified } from "./support.ts";

// How repair is asked, aborted, and overtaken by writers; what it mends is in the tests of damage.

const repair = operationNamed("repair");

test("repair verifies by itself where it gets no report", async () => {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  for (const threadId of ["one", "two"]) {
    await turns(saver, threadId, 1);
    const { revision } = await tier.peek({ threadId, namespace: "" });
    const blob = { hash: "ab".repeat(20), bytes: Buffer.from("spare") };
    const nothing = { checkpoints: [], dropBlobs: [], heads: [] };
    await tier.remove({ threadId, revision, replaceBlobs: [blob], ...nothing });
  }
  const context = testContext(saver);
  const outcomes = async (input: object): Promise<string[]> => {
    const { results } = (await runOperation(repair, input, context)) as { results: { outcome: string }[] };
    return results.map(({ outcome }) => outcome);
  };
  expect(await outcomes({})).toEqual(["would", "would"]);
  expect(await outcomes({ threads: "one", apply: true, dryRun: true })).toEqual(["would"]);
  expect(await outcomes({ threads: "one", apply: "true" })).toEqual(["done"]);
  const report = JSON.stringify(await verified(tier));
  expect(await outcomes({ report, apply: true })).toEqual(["done"]);
  expect(await outcomes({})).toEqual([]);
});

test("an aborted repair ends with the thread it is at, and goes on from its cursor", async () => {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  for (const threadId of ["one", "two", "three"]) {
    await turns(saver, threadId, 1);
    const { revision } = await tier.peek({ threadId, namespace: "" });
    const blob = { hash: "ab".repeat(20), bytes: Buffer.from("spare") };
    const nothing = { checkpoints: [], dropBlobs: [], heads: [] };
    await tier.remove({ threadId, revision, replaceBlobs: [blob], ...nothing });
  }
  const report = await verified(tier);
  const context = testContext(saver, { signal: AbortSignal.abort() });
  const threads: (string | undefined)[] = [];
  let cursor: string | undefined;
  for (let run = 0; run < 3; run += 1) {
    const input = { report, apply: true, ...(cursor === undefined ? {} : { cursor }) };
    const outcome = (await runOperation(repair, input, context)) as RepairOutcome;
    threads.push(...outcome.results.map(({ finding }) => finding.thread));
    cursor = outcome.cursor;
    expect(outcome.complete).toBe(run === 2);
  }
  expect(threads.sort()).toEqual(["one", "three", "two"]);
  expect((await verified(tier)).findings).toEqual([]);
});

test("a change between looking and mending is left alone", async () => {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  await turns(saver, "t", 2);
  const [, , before] = await idsOf(tier, "t");
  const { revision, head } = await tier.peek({ threadId: "t", namespace: "" });
  const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
  await tier.remove({ threadId: "t", revision, ...nothing, heads: [{ namespace: "", to: before! }] });
  const report = await verified(tier);
  expect(report.findings).toMatchObject([{ kind: "wrong-head", target: head }]);
  // Somebody goes on from the wrong head first: then it is the newest of the main line that a person has to choose.
  const racing = new Proxy(tier, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "remove")
        return async (request: Parameters<Tier["remove"]>[0]) => {
          await agent(saver).updateState(on("t"), { log: [line("meanwhile")] });
          return await target.remove(request);
        };
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const outcome = await repaired(racing, report);
  expect(outcome.results).toMatchObject([{ outcome: "changed" }]);
  expect((await tier.peek({ threadId: "t", namespace: "" })).head).not.toBe(head);
  expect((await repaired(tier, report)).results).toMatchObject([{ outcome: "solved" }]);
});

async function idsOf(tier: Tier, threadId: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { record } of tier.list({ threadId, recordsOnly: true })) ids.push(record.checkpointId);
  return ids;
}
