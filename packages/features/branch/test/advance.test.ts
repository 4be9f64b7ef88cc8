import { fork, merge } from "@stratigraph/branch";
import { advance } from "@stratigraph/branch/internal";
import { chat, human, on, textOf } from "./support/graphs.ts";
import { savers, type Opened } from "./support/savers.ts";

describe.each(savers)("advance on %s", (_name, open) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  test("moves a head to a fork that went on, without a graph, and once", async () => {
    const { saver } = opened;
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one")] }, on("a"));
    const made = await fork(saver, "a");
    expect(await advance(saver, "a", made)).toMatchObject({ status: "already-merged" });
    await graph.invoke({ messages: [human("two")] }, on(made.threadId));
    const theirs = await graph.getState(on(made.threadId));
    const moved = await advance(saver, "a", made);
    expect(moved).toMatchObject({ status: "fast-forward", threadId: "a" });
    const ours = await graph.getState(on("a"));
    expect(ours.values).toEqual(theirs.values);
    expect(ours.config.configurable?.["checkpoint_id"]).toBe(moved.checkpointId);
    expect(await advance(saver, "a", made)).toMatchObject({ status: "already-merged" });
  });

  test("refuses where the thread went on, and takes a merge for done", async () => {
    const { saver } = opened;
    const graph = chat(saver);
    await graph.invoke({ messages: [human("one")] }, on("b"));
    const made = await fork(saver, "b");
    await graph.invoke({ messages: [human("theirs")] }, on(made.threadId));
    await graph.invoke({ messages: [human("ours")] }, on("b"));
    const before = await graph.getState(on("b"));
    await expect(advance(saver, "b", made)).rejects.toMatchObject({
      code: "CHECKPOINT_CONFLICT",
      data: { threadId: "b", head: before.config.configurable?.["checkpoint_id"] },
    });
    expect(textOf((await graph.getState(on("b"))).values.messages)).toEqual(textOf(before.values.messages));
    await merge(graph, "b", made, { strategy: { "*": "reducer" } });
    expect(await advance(saver, "b", made)).toMatchObject({ status: "already-merged" });
  });

  test("refuses threads that aren't there, or aren't threads", async () => {
    await expect(advance(opened.saver, "none", "a")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(advance(opened.saver, "a", { thread: "b" } as never)).rejects.toMatchObject({
      code: "INVALID_ADDRESS",
    });
    await expect(advance({} as never, "a", "b")).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });
});
