import { randomBytes } from "node:crypto";
import { applyMerge, compare, diff, fork, log, merge, promote, undo } from "@stratigraph/branch";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { chat, human, on } from "./support/graphs.ts";

const [key, hashKey] = [randomBytes(32), randomBytes(32)];

function opened(tier: MemoryTier): TierSaver {
  return new TierSaver(tier, { encryption: { keys: { k: key }, activeKey: "k", hashKey } });
}

/** A saver whose key can't be fetched the first time that it is needed. */
function failingOnce(tier: MemoryTier): TierSaver {
  let asked = 0;
  const k = (): Uint8Array => {
    asked += 1;
    if (asked === 1) throw new Error("KMS is down");
    return key;
  };
  return new TierSaver(tier, { encryption: { keys: { k }, activeKey: "k", hashKey } });
}

/** A thread of two turns, and a fork of it: each went on by itself, and both changed the title. */
async function forked(): Promise<{ tier: MemoryTier; old: string }> {
  const tier = new MemoryTier();
  const saver = opened(tier);
  const graph = chat(saver);
  await graph.invoke({ messages: [human("one")], title: "base" }, on("t"));
  const old = (await tier.peek({ threadId: "t", namespace: "" })).head!;
  await fork(saver, { threadId: "t" }, { to: "f" });
  await graph.invoke({ messages: [human("two")], title: "ours" }, on("t"));
  await graph.invoke({ messages: [human("three")], title: "theirs" }, on("f"));
  return { tier, old };
}

const operations: Readonly<Record<string, (saver: TierSaver, old: string) => Promise<unknown>>> = {
  fork: (saver) => fork(saver, { threadId: "t" }, { to: "g", history: "full" }),
  merge: (saver) => merge(chat(saver), "t", "f", { strategy: { title: "theirs" } }),
  compare: (saver) => compare(saver, ["t", "f"]),
  diff: (saver) => diff(saver, { threadId: "t" }, { threadId: "f" }),
  log: (saver) => log(saver, "t"),
  promote: (saver, old) => promote(saver, { threadId: "t", checkpointId: old }),
};

test.each(Object.keys(operations))(
  "%s: a key that can't be fetched ends it, and nothing else",
  async (name) => {
    const { tier, old } = await forked();
    const saver = failingOnce(tier);
    const revisions = async () =>
      await Promise.all(
        ["t", "f", "g"].map(async (threadId) => (await tier.peek({ threadId, namespace: "" })).revision),
      );
    const before = await revisions();
    await expect(operations[name]!(saver, old)).rejects.toMatchObject({
      code: "KEY_UNAVAILABLE",
      retryable: true,
      data: { keyId: "k" },
      message: expect.stringContaining("KMS is down"),
    });
    expect(await revisions()).toEqual(before);
    await operations[name]!(saver, old);
  },
);

test("a plan is applied, and a merge undone, by who can't fetch the key at first", async () => {
  const { tier } = await forked();
  const result = await merge(chat(opened(tier)), "t", "f");
  if (result.status !== "conflict") throw new Error(result.status);
  const late = failingOnce(tier);
  const answers = { title: "theirs" } as const;
  await expect(applyMerge(chat(late), result.plan, answers)).rejects.toMatchObject({
    code: "KEY_UNAVAILABLE",
  });
  expect(await applyMerge(chat(late), result.plan, answers)).toMatchObject({ status: "merged" });
  const undoing = failingOnce(tier);
  await expect(undo(undoing, "t")).rejects.toMatchObject({ code: "KEY_UNAVAILABLE" });
  await undo(undoing, "t");
  expect((await chat(undoing).getState(on("t"))).values.title).toBe("ours");
});
