import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import type { Namespace } from "@stratigraph/core/tier";
import { createJournal } from "@stratigraph/journal";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { removeRun } from "../../packages/tools/cli/src/dev/removeRun.ts";
import { replacing } from "../../packages/engine/core/test/contract/support.ts";
import { configOf, put, stepsOf, text, valueOf } from "../../packages/engine/tiered/test/support.ts";

// Who deletes runs without the archive that may have them isn't told that they are gone, and what is here of an archived thread stays.

/** Puts a checkpoint of the run "r1", "r2", … */
async function step(saver: TierSaver, threadId: string, n: number): Promise<void> {
  const ofRun = {
    put: ((config, ...rest) =>
      saver.put({ ...config, metadata: { run_id: `r${n}` } }, ...rest)) as TierSaver["put"],
  };
  await put(ofRun as TierSaver, threadId, n, text(`${threadId} ${n}`));
}

/** How a part of the thread comes to be in the warm tier, and the steps of the thread. */
const states: Readonly<Record<string, (stack: TieredSaver) => Promise<number[]>>> = {
  "archived as a whole": async () => [3, 2, 1],
  "archived, and its head read since": async (stack) => {
    await valueOf(stack, "t");
    return [3, 2, 1];
  },
  "archived, and gone on since": async (stack) => {
    await step(stack, "t", 4);
    return [4, 3, 2, 1];
  },
};

async function archived(more: (stack: TieredSaver) => Promise<number[]>) {
  const [warm, cold] = [new MemoryTier(), new MemoryTier()];
  const stack = new TieredSaver({ warm, cold });
  for (const n of [1, 2, 3]) await step(stack, "t", n);
  await stack.tier.archiveThread!("t", async () => undefined);
  const steps = await more(stack);
  for (const n of [1, 2, 3, 4]) await step(stack, "young", n);
  return { warm, stack, steps, alone: new TierSaver(warm) };
}

async function held(tier: Tier): Promise<unknown[]> {
  const found: unknown[] = [await tier.peek({ threadId: "t", namespace: "" })];
  for await (const { record } of tier.list({ threadId: "t", recordsOnly: true })) found.push(record);
  return found;
}

const told = { code: "EVICTED", data: { threadId: "t" } };

test.each(Object.keys(states))(
  "a thread that is %s: refused and left as it was, and other threads are done",
  async (state) => {
    const { warm, stack, steps, alone } = await archived(states[state]!);
    const before = await held(warm);
    for (const run of ["r2", "r3", "r4"])
      await expect(alone.deleteForRuns([run]), run).rejects.toMatchObject(told);
    expect(await held(warm)).toEqual(before);
    expect(await stepsOf(alone, "young")).toEqual([1]);
    expect(await stepsOf(stack, "t")).toEqual(steps);
    expect(await valueOf(stack, "t")).toBe(text(`t ${steps[0]}`));
    await stack.deleteForRuns(["r2", "r3"]);
    expect(await stepsOf(stack, "t")).toEqual(steps.filter((n) => n !== 2 && n !== 3));
    await expect(alone.deleteForRuns([])).resolves.toBeUndefined();
  },
);

test("what calls of an archived thread said and got stays, too", async () => {
  const call = { id: "pay", args: { sum: 1 } };
  const { warm, stack, alone } = await archived(async (opened) => {
    await createJournal(opened).run(configOf("t"), call, () => "paid");
    return await states["archived, and gone on since"]!(opened);
  });
  const before = await held(warm);
  await expect(alone.deleteForRuns(["r4"])).rejects.toMatchObject(told);
  createJournal(alone);
  await expect(alone.deleteForRuns(["r4"])).rejects.toMatchObject(told);
  expect(await held(warm)).toEqual(before);
  await stack.deleteForRuns(["r4"]);
  expect(await stepsOf(stack, "t")).toEqual([3, 2, 1]);
});

test("a thread that is archived while runs are deleted is left as it was", async () => {
  const { warm, stack } = await archived(async () => [3]);
  let looks = 0;
  const tier = replacing(warm, {
    // The thread was looked at, and is archived before its checkpoints are listed.
    peek: async (at: Namespace) => {
      const found = await warm.peek(at);
      if (at.threadId === "young" && (looks += 1) === 1)
        await stack.tier.archiveThread!("young", async () => undefined);
      return found;
    },
  });
  await expect(new TierSaver(tier).deleteForRuns(["r4"])).rejects.toMatchObject({
    code: "EVICTED",
    data: { threadId: "young" },
  });
  expect(await stepsOf(stack, "young")).toEqual([4, 3, 2, 1]);
});

test("runs of an archived thread that lost its head stay, and that is said", async () => {
  const { warm, stack } = await archived(async () => [3]);
  const { revision } = await warm.peek({ threadId: "t", namespace: "" });
  const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
  await warm.remove({ threadId: "t", revision, ...nothing, heads: [{ namespace: "" }] });
  await expect(stack.deleteForRuns(["r2"])).rejects.toMatchObject({
    code: "CORRUPT",
    data: { threadId: "t" },
  });
});

test("where nothing was archived, one small query tells so; with an archive, none is needed", async () => {
  const door = new FaultyTier(new MemoryTier(), "warm");
  const alone = new TierSaver(door);
  await step(alone, "young", 1);
  const asked = (): string[] => door.calls.splice(0).map(({ method }) => method);
  asked();
  await alone.deleteForRuns(["unknown"]);
  expect(asked()).toEqual(["list", "keyChecks"]);
  await new TieredSaver({ warm: door, cold: new MemoryTier() }).deleteForRuns(["unknown"]);
  expect(asked().filter((method) => method === "threads" || method === "keyChecks")).toEqual([]);
});

test("the dev server takes a run back although other threads are archived elsewhere", async () => {
  const { alone } = await archived(async () => [3]);
  await removeRun(alone, "young", "r4");
  expect(await stepsOf(alone, "young")).toEqual([3, 2, 1]);
  await expect(removeRun(alone, "t", "r3")).rejects.toMatchObject(told);
  expect(await valueOf(alone, "young", 3)).toBeUndefined();
  await expect(alone.getTuple(configOf("t"))).rejects.toMatchObject({ code: "EVICTED" });
});
