import { applyMerge, fork, merge, promote, undo } from "@stratigraph/branch";
import { TierSaver, type Tier } from "@stratigraph/core";
import type { AppendRequest } from "@stratigraph/core/tier";
import { chat, human, on } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

/** The same storage, which lets somebody else go first: `before` runs once, when the next append is about to be sent. */
class Slow {
  before: (() => Promise<unknown>) | undefined;
  appends: AppendRequest[] = [];

  over(tier: Tier): TierSaver {
    const append = async (request: AppendRequest): Promise<unknown> => {
      this.appends.push(request);
      const { before } = this;
      this.before = undefined;
      await before?.();
      return await tier.append(request);
    };
    return new TierSaver(
      new Proxy(tier, {
        get(target, name) {
          if (name === "append") return append;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
    );
  }
}

describe.each(savers)("heads that move meanwhile on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  const headOf = async (threadId: string): Promise<string> =>
    (await saver.tier.peek({ threadId, namespace: "" })).head!;

  async function twoTurns(threadId: string): Promise<[old: string, head: string]> {
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one")] }, on(threadId));
    const old = await headOf(threadId);
    await graph.invoke({ messages: [human("two")] }, on(threadId));
    return [old, await headOf(threadId)];
  }

  test("a move and its record are one append", async () => {
    const [old] = await twoTurns("m");
    const slow = new Slow();
    const slowly = slow.over(saver.tier);
    await promote(slowly, { threadId: "m", checkpointId: old });
    await undo(slowly, "m");
    expect(slow.appends.map(({ heads }) => heads.map(({ namespace }) => namespace))).toEqual([
      ["", "__stratigraph_reflog__"],
      ["", "__stratigraph_reflog__"],
    ]);
  });

  test("undo and promote move no head away from work that came in between, and record nothing", async () => {
    const [old, head] = await twoTurns("w");
    await promote(saver, { threadId: "w", checkpointId: old });
    const slow = new Slow();
    const slowly = slow.over(saver.tier);
    for (const move of [
      () => undo(slowly, "w"),
      () => promote(slowly, { threadId: "w", checkpointId: head }),
    ]) {
      slow.before = async () => await chat(saver).updateState(on("w"), { title: "newer" });
      const refused = await move().catch((error: unknown) => error);
      const now = await headOf("w");
      expect(refused).toMatchObject({
        name: "CheckpointConflictError",
        code: "CHECKPOINT_CONFLICT",
        data: { threadId: "w", checkpointId: head, head: now, expected: [expect.any(String)] },
      });
      expect((refused as Error).message).toMatch(
        /^(Undoing|The promotion) was refused: thread "w" went on to/,
      );
      expect((refused as Error).message).not.toMatch(/was stored|conflict: "branch"/);
      expect((await chat(saver).getState(on("w"))).values.title).toBe("newer");
      // The last recorded move is still the promotion, and the thread went on since.
      await expect(undo(saver, "w")).rejects.toMatchObject({
        code: "MERGE_REFUSED",
        data: { move: { kind: "promote", to: old } },
      });
    }
  });

  test("of two undos at once one happens", async () => {
    const [old, head] = await twoTurns("two");
    await promote(saver, { threadId: "two", checkpointId: old });
    const slow = new Slow();
    slow.before = async () => await undo(saver, "two");
    const refused = await undo(slow.over(saver.tier), "two").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "CHECKPOINT_CONFLICT" });
    expect((refused as Error).message).toContain("Undoing was refused");
    expect(await headOf("two")).toBe(head);
    expect(await undo(saver, "two")).toMatchObject({ from: head, checkpointId: old });
  });

  test("a merge and a fast-forward whose target moved say so", async () => {
    await twoTurns("t");
    const slow = new Slow();
    const slowly = slow.over(saver.tier);
    for (const fastForward of [true, false]) {
      const { threadId } = await fork(saver, { threadId: "t" });
      await chat(saver).updateState(on(threadId), { title: "theirs" });
      slow.before = async () => await chat(saver).updateState(on("t"), { notes: ["newer"] });
      const refused = await merge(chat(slowly), "t", { threadId }, { fastForward }).catch(
        (error: unknown) => error,
      );
      expect(refused).toMatchObject({ code: "CHECKPOINT_CONFLICT", data: { head: await headOf("t") } });
      expect((refused as Error).message).toMatch(/^The merge was refused: thread "t" went on to/);
      const plan = await merge(chat(saver), "t", { threadId }, { strategy: "manual" });
      expect(plan.status).toBe("merged");
    }
    const { threadId } = await fork(saver, { threadId: "t" });
    await chat(saver).updateState(on(threadId), { title: "other" });
    await chat(saver).updateState(on("t"), { title: "ours" });
    const result = await merge(chat(saver), "t", { threadId });
    if (result.status !== "conflict") throw new Error(result.status);
    await chat(saver).updateState(on("t"), { notes: ["newer"] });
    const refused = await applyMerge(chat(saver), result.plan, { title: "theirs" }).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: "CHECKPOINT_CONFLICT" });
    expect((refused as Error).message).toMatch(
      /^The merge was refused: thread "t" went on to .* since the plan was made.*merge again for a new plan/i,
    );
  });
});
