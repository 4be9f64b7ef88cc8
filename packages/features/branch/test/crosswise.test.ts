import { RemoveMessage } from "@langchain/core/messages";
import { forkMany, merge, mergeBase, type MergeResult } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { chat, deltaChat, human, on, textOf } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

describe.each(savers)("merges after merges on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  const headOf = async (id: string): Promise<string> =>
    (await saver.tier.peek({ threadId: id, namespace: "" })).head!;
  const valuesOf = async (id: string) => (await chat(saver).getState(on(id))).values;
  const strategy = { sum: "reducer", facts: "union", notes: "reducer" } as const;
  const join = async (to: string, from: string, checkpointId?: string): Promise<MergeResult["status"]> => {
    const result = await merge(chat(saver), to, { threadId: from, checkpointId }, { strategy });
    return result.status;
  };

  /** Two forks that each said something and then took over what the other one had said. */
  async function crossed(name: string): Promise<readonly [string, string]> {
    const [a, b] = [`${name}-a`, `${name}-b`];
    await chat(saver).invoke({ messages: [human("base")], title: "t", facts: { base: 1 } }, on(name));
    await forkMany(saver, { threadId: name }, [a, b]);
    await chat(saver).invoke({ messages: [human("from a", `${a}1`)], facts: { a: 1 }, title: "of a" }, on(a));
    await chat(saver).invoke({ messages: [human("from b", `${b}1`)], facts: { b: 1 } }, on(b));
    const [headA, headB] = [await headOf(a), await headOf(b)];
    expect(await join(a, b, headB)).toBe("merged");
    expect(await join(b, a, headA)).toBe("merged");
    const base = await mergeBase(saver, { threadId: a }, { threadId: b });
    expect(base!.all).toEqual([headA, headB].toSorted().toReversed());
    expect(base!.checkpointId).toBe(base!.all[0]);
    return [a, b];
  }

  test("crosswise: what one side took over and took back stays taken back, whichever is merged into which", async () => {
    for (const [n, swapped] of [false, true].entries()) {
      const [a, b] = await crossed(`x${n}`);
      expect(await valuesOf(a)).toMatchObject({ sum: 3, title: "of a", facts: { base: 1, a: 1, b: 1 } });
      expect(await valuesOf(b)).toMatchObject({ sum: 3, title: "of a", facts: { base: 1, a: 1, b: 1 } });
      const gone = [new RemoveMessage({ id: `${a}1` }), new RemoveMessage({ id: `re-${a}1` })];
      await chat(saver).updateState(on(b), { messages: gone, title: "t" });
      await chat(saver).invoke({ messages: [human("a again")] }, on(a));
      expect(await (swapped ? join(b, a) : join(a, b))).toBe("merged");
      const { messages, title, sum, facts } = await valuesOf(swapped ? b : a);
      expect(textOf(messages).toSorted()).toEqual(
        ["base", "re: base", "from b", "re: from b", "a again", "re: a again"].toSorted(),
      );
      expect([title, sum, facts]).toEqual(["t", 4, { base: 1, a: 1, b: 1 }]);
    }
  });

  test("crosswise, and both go on: sums and messages count once", async () => {
    const [a, b] = await crossed("y");
    await chat(saver).invoke({ messages: [human("more a")] }, on(a));
    await chat(saver).invoke({ messages: [human("more b")] }, on(b));
    const [headA, headB] = [await headOf(a), await headOf(b)];
    expect(await join(a, b, headB)).toBe("merged");
    expect(await join(b, a, headA)).toBe("merged");
    const [one, other] = [await valuesOf(a), await valuesOf(b)];
    expect(one.sum).toBe(5);
    expect(one.messages).toHaveLength(10);
    expect(other).toEqual(one);
    await chat(saver).invoke({ messages: [human("last")] }, on(b));
    expect(await join(a, b)).toBe("merged");
    expect(await valuesOf(a)).toMatchObject({ sum: 6 });
    expect((await valuesOf(a)).messages).toHaveLength(12);
    expect(await join(b, a)).toBe("fast-forward");
  });

  test("a conflict in what they had in common is a conflict again, not a silent choice", async () => {
    const [name, a, b] = ["z", "z-a", "z-b"];
    await chat(saver).invoke({ messages: [human("base")], title: "t" }, on(name));
    await forkMany(saver, { threadId: name }, [a, b]);
    await chat(saver).updateState(on(a), { title: "of a" });
    await chat(saver).updateState(on(b), { title: "of b" });
    const [headA, headB] = [await headOf(a), await headOf(b)];
    await merge(chat(saver), a, { threadId: b, checkpointId: headB }, { strategy: { title: "ours" } });
    await merge(chat(saver), b, { threadId: a, checkpointId: headA }, { strategy: { title: "ours" } });
    const result = await merge(chat(saver), a, { threadId: b });
    expect(result).toMatchObject({
      status: "conflict",
      plan: { channels: [{ name: "title", base: "t", ours: "of a", theirs: "of b" }] },
    });
  });

  test("one source after another, again and again: each time what is new", async () => {
    const [name, a, b, c] = ["s", "s-a", "s-b", "s-c"];
    await chat(saver).invoke({ messages: [human("base")], notes: ["base"] }, on(name));
    await forkMany(saver, { threadId: name }, [a, b, c]);
    for (let round = 1; round <= 3; round += 1) {
      for (const id of [a, b, c])
        await chat(saver).invoke({ messages: [human(`${id} ${round}`)], notes: [`${id}${round}`] }, on(id));
      expect(await join(b, c)).toBe("merged");
      expect(await join(a, b)).toBe("merged");
    }
    const { messages, sum, notes } = await valuesOf(a);
    expect(messages).toHaveLength(20);
    expect(sum).toBe(10);
    expect(notes.toSorted()).toEqual(
      ["base", ...[a, b, c].flatMap((id) => [1, 2, 3].map((n) => `${id}${n}`))].toSorted(),
    );
    expect(await join(a, c)).toBe("already-merged");
    // What came by way of another thread is known to be here when that one is gone.
    await saver.deleteThread(b);
    expect(await join(a, c)).toBe("already-merged");
    await chat(saver).invoke({ messages: [human("c on")], notes: ["on"] }, on(c));
    expect(await join(a, c)).toBe("merged");
    expect((await valuesOf(a)).sum).toBe(11);
    expect((await valuesOf(a)).notes).toEqual([...notes, "on"]);
    expect(await join(name, a)).toBe("fast-forward");
  });

  test("DeltaChannels, crosswise", async () => {
    const graph = deltaChat(saver, 1000);
    await graph.invoke({ messages: [human("base")] }, on("dx"));
    await forkMany(saver, { threadId: "dx" }, ["dx-a", "dx-b"]);
    await graph.invoke({ messages: [human("a", "dxa")] }, on("dx-a"));
    await graph.invoke({ messages: [human("b", "dxb")] }, on("dx-b"));
    const [headA, headB] = [await headOf("dx-a"), await headOf("dx-b")];
    await merge(graph, "dx-a", { threadId: "dx-b", checkpointId: headB });
    await merge(graph, "dx-b", { threadId: "dx-a", checkpointId: headA });
    await graph.updateState(on("dx-b"), { messages: [new RemoveMessage({ id: "dxa" })] });
    await graph.invoke({ messages: [human("on")] }, on("dx-a"));
    expect((await merge(graph, "dx-a", { threadId: "dx-b" })).status).toBe("merged");
    const texts = textOf((await graph.getState(on("dx-a"))).values.messages);
    expect(texts.toSorted()).toEqual(["base", "re: base", "re: a", "b", "re: b", "on", "re: on"].toSorted());
  });
});
