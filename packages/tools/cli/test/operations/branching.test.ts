import { promote as promoteThread } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chat, human, on, textOf } from "../../../../features/branch/test/support/graphs.ts";
import { savers } from "./support/savers.ts";
import { hostileId, ran } from "./support/ran.ts";

interface Forked {
  readonly from: { readonly checkpoint: string; readonly wasHead: boolean };
  readonly items: readonly {
    readonly thread: string;
    readonly checkpoints: number;
    readonly bytes: number;
  }[];
}
interface Moved {
  readonly head: string;
  readonly before?: string;
}
interface Merged {
  readonly status: string;
  readonly head: string;
  readonly seen?: readonly string[];
  readonly channels?: Readonly<Record<string, string>>;
  readonly open?: readonly string[];
  readonly plan?: { readonly channels: readonly { readonly name: string; readonly ours: string }[] };
}

describe.each(savers)("fork, merge, promote and undo on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  const values = async (id: string) => (await chat(saver).getState(on(id))).values;
  const say = async (id: string, text: string, more: object = {}) =>
    await chat(saver).invoke({ messages: [human(text)], ...more }, on(id));
  const head = async (threadId: string) => (await saver.tier.peek({ threadId, namespace: "" })).head!;
  const merge = (input: object) => ran<Merged>("merge", input, saver, { graph: chat(saver) });

  /** A thread and a fork of it, whose titles differ. */
  async function parted(id: string): Promise<[string, string]> {
    await say(id, "base", { title: "t", notes: ["base"] });
    const other = `${id}-other`;
    await ran("fork", { at: id, to: other }, saver);
    await say(id, "mine", { title: "mine", notes: ["a"] });
    await say(other, "yours", { title: "yours", notes: ["b"] });
    return [id, other];
  }

  test("a fork of any checkpoint, named or not, one or several", async () => {
    await say(hostileId, "one");
    await say(hostileId, "two");
    const named = await ran<Forked>("fork", { at: hostileId, to: "f1" }, saver);
    expect(named.output).toMatchObject({
      from: { wasHead: true },
      items: [{ thread: "f1", checkpoints: 1 }],
    });
    expect(named.output.items[0]!.bytes).toBeGreaterThan(100);
    expect(await values("f1")).toEqual(await values(hostileId));
    const earlier = await ran<Forked>("fork", { at: `${hostileId}@head~3`, count: "2" }, saver);
    expect(earlier.output.items).toHaveLength(2);
    for (const { thread } of earlier.output.items)
      expect(textOf((await values(thread)).messages)).toEqual(["one", "re: one"]);
    const full = await ran<Forked>("fork", { at: hostileId, history: "full" }, saver);
    expect(full.output.items[0]!.checkpoints).toBe(6);
    await expect(ran("fork", { at: hostileId, to: "f1" }, saver)).rejects.toMatchObject({
      code: "THREAD_EXISTS",
    });
    await expect(ran("fork", { at: hostileId, to: "f9", count: 2 }, saver)).rejects.toThrow("not both");
    await expect(ran("fork", { at: "nobody" }, saver)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("a fork from just before a message", async () => {
    await say("said", "one");
    await chat(saver).invoke({ messages: [human("two", "second")] }, on("said"));
    const input = { at: "said", to: "said-edited", message: "second" };
    const planned = await ran<Forked>("fork", { ...input, dryRun: true }, saver);
    const made = await ran<Forked>("fork", input, saver);
    expect(made.output.from).toEqual({ ...planned.output.from, wasHead: false });
    expect(textOf((await values("said-edited")).messages)).toEqual(["one", "re: one"]);
    await expect(ran("fork", { at: "said", message: "third" }, saver)).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  test("conflicts are listed, answered one by one, and the thread goes on", async () => {
    const [mine, yours] = await parted("m");
    const before = await head(mine);
    const plan = await merge({ thread: mine, from: yours, strategy: "sum=reducer", dryRun: true });
    expect(plan.output).toMatchObject({ status: "conflict", open: ["title", "notes"], head: before });
    expect(plan.found).toBe(true);
    expect(plan.text).toMatch(/title: both sides changed it\n +base +"t"\n +ours +"mine"\n +theirs +"yours"/);
    const half = await merge({
      thread: mine,
      from: [yours],
      strategy: "sum=reducer",
      answers: { title: "theirs" },
    });
    expect(half.output).toMatchObject({ status: "conflict", open: ["notes"] });
    expect(half.output.plan!.channels).toHaveLength(2);
    expect(await head(mine)).toBe(before);
    const answers = JSON.stringify({ title: "theirs", notes: { value: ["base", "both"] } });
    const done = await merge({
      thread: mine,
      plan: JSON.stringify(half.output.plan),
      strategy: ["sum=reducer"],
      answers,
    });
    expect(done.output).toMatchObject({ status: "merged", channels: { title: "answer", sum: "reducer" } });
    expect(done.found).toBe(false);
    expect(await values(mine)).toMatchObject({ title: "yours", notes: ["base", "both"], sum: 3 });
    await say(mine, "on");
    expect((await merge({ thread: mine, from: yours })).output.status).toBe("already-merged");
  });

  test("a dry run of a merge without conflicts writes nothing", async () => {
    const [mine, yours] = await parted("d");
    const before = await head(mine);
    const clear = await merge({
      thread: mine,
      from: yours,
      strategy: ["union", "title=ours", "sum=ours"],
      dryRun: true,
    });
    expect(clear.output).toMatchObject({ status: "planned", head: before, channels: { title: "ours" } });
    await ran("fork", { at: mine, to: "ahead" }, saver);
    await say("ahead", "further");
    const forward = await merge({ thread: mine, from: "ahead", dryRun: true });
    expect(forward.text).toContain("would just move forward");
    expect(await head(mine)).toBe(before);
    expect((await merge({ thread: mine, from: "ahead" })).output.status).toBe("fast-forward");
    const commit = await merge({ thread: mine, from: yours, mergeCommit: true, strategy: "ours" });
    expect(commit.output.status).toBe("merged");
  });

  test("a merge applies only to what was looked at: if either side has changed since, it is refused", async () => {
    const [mine, yours] = await parted("seen");
    const looked = async (input: object = {}) =>
      (await merge({ thread: mine, from: yours, strategy: "ours", dryRun: true, ...input })).output;
    const refused = {
      code: "CHECKPOINT_CONFLICT",
      message: expect.stringMatching(/Look at the merge again/),
    };
    for (const moved of [mine, yours]) {
      const { seen } = await looked();
      expect(seen).toEqual([await head(mine), await head(yours)]);
      const asked = await looked({ strategy: [] });
      expect(asked.seen).toEqual(seen);
      const answers = Object.fromEntries(asked.plan!.channels.map(({ name }) => [name, "ours"]));
      await say(moved, "meanwhile");
      const before = await head(mine);
      for (const how of [{ strategy: "ours" }, { strategy: "ours", dryRun: true }, { answers }])
        await expect(merge({ thread: mine, from: yours, seen, ...how })).rejects.toMatchObject(refused);
      expect(await head(mine)).toBe(before);
    }
    const { seen } = await looked();
    for (const wrong of [seen!.slice(0, 1), [...seen!, "more"]])
      await expect(merge({ thread: mine, from: yours, strategy: "ours", seen: wrong })).rejects.toThrow(
        /seen/,
      );
    const done = await merge({ thread: mine, from: yours, strategy: "ours", seen });
    expect(done.output.status).toBe("merged");
    const again = await looked();
    expect(again.status).toBe("already-merged");
    await ran("fork", { at: mine, to: "seen-ahead" }, saver);
    await say("seen-ahead", "further");
    const forward = await looked({ from: "seen-ahead" });
    const moved = await merge({ thread: mine, from: "seen-ahead", seen: forward.seen });
    expect(moved.output.status).toBe("fast-forward");
    expect(await head(mine)).toBe(await head("seen-ahead"));
  });

  test("answers that answer nothing are refused, as are strategies and plans that fit nothing", async () => {
    const [mine, yours] = await parted("r");
    const before = await head(mine);
    for (const [input, message] of [
      [{ from: yours, answers: { titel: "ours" } }, /titel.*Did you mean title/s],
      [{ from: yours, strategy: "ours", answers: { title: "ours" } }, /There is no conflict/],
      [{ from: yours, strategy: "newest" }, /Write one of ours/],
      [{ from: yours, answers: "{" }, /answers: write JSON/],
      [{ from: yours, answers: { title: "mine" } }, /answers/],
      [
        { from: yours, answers: { title: { value: { lc: 2, type: "sg:redacted" } } } },
        /answers.title.*redacted/,
      ],
      [{ from: yours, answers: { title: { value: { lc: 2, type: "sg:nothing" } } } }, /answers.title/],
      [{}, /Name what to merge/],
    ] as const)
      await expect(merge({ thread: mine, ...input })).rejects.toThrow(message);
    expect(await head(mine)).toBe(before);
    const { plan } = (await merge({ thread: mine, from: yours })).output;
    await say(mine, "meanwhile");
    const answers = Object.fromEntries(plan!.channels.map(({ name }) => [name, "ours"]));
    await expect(merge({ thread: mine, plan, answers })).rejects.toMatchObject({
      code: "CHECKPOINT_CONFLICT",
    });
    await expect(merge({ thread: yours, plan, answers })).rejects.toThrow("a plan of r");
  });

  test("an answer is revived, so that a message is a message; what the config hides isn't shown", async () => {
    const [mine, yours] = await parted("s");
    const message = (content: string) => [
      {
        lc: 1,
        type: "constructor",
        id: ["langchain_core", "messages", "HumanMessage"],
        kwargs: { content, id: "x" },
      },
    ];
    const input = { thread: mine, from: yours, strategy: ["ours", "messages=manual"] };
    const hidden = await ran<Merged>("merge", input, saver, {
      graph: chat(saver),
      redact: ["messages.*.content"],
    });
    expect(hidden.output.plan!.channels).toMatchObject([{ name: "messages", ours: "(redacted)" }]);
    expect(JSON.stringify(hidden.output)).not.toContain("re: mine");
    await merge({ ...input, answers: { messages: { value: message("by hand") } } });
    const { messages } = await values(mine);
    expect(messages[0]!.getType()).toBe("human");
    expect(textOf(messages)).toEqual(["by hand"]);
  });

  test("promote and undo move the head back and forth, and take nothing away", async () => {
    await say("p", "one");
    await say("p", "two");
    const newest = await head("p");
    const moved = await ran<Moved>("promote", { at: "p@head~3" }, saver);
    expect(moved.output).toMatchObject({ before: newest });
    expect(moved.text).toContain("To take it back: stratigraph undo p");
    expect(textOf((await values("p")).messages)).toEqual(["one", "re: one"]);
    const back = await ran<Moved>("undo", { thread: "p" }, saver);
    expect(back.output).toMatchObject({ head: newest, before: moved.output.head });
    const same = await ran<Moved>("promote", { at: "p" }, saver);
    expect(same.text).toContain("is the head already");
    await expect(ran("undo", { thread: "nobody" }, saver)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await promoteThread(saver, { threadId: "p", checkpointId: moved.output.head });
    await say("p", "newer work");
    await expect(ran("undo", { thread: "p" }, saver)).rejects.toMatchObject({ code: "MERGE_REFUSED" });
  });
});
