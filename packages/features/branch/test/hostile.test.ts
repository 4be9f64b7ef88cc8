import { setImmediate as turn } from "node:timers/promises";
import { branches, fork, forkMany, lineage, merge, type Point } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { chat, human, on, textOf } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

const awkward = ["a\0b", `it's "quoted"`, "{}*?[a]", "🌲".repeat(300), "../..", "%s", " ", "__proto__"];

describe.each(savers)("awkward ids, wrong input and races on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  test("thread ids of any text are forked from, forked to, found and merged", async () => {
    for (const [n, id] of awkward.entries()) {
      await chat(saver).invoke({ messages: [human("base")] }, on(id));
      const to = `${id}${n}`;
      const made = await fork(saver, { threadId: id }, { to });
      expect(made).toMatchObject({ threadId: to, origin: { threadId: id } });
      await chat(saver).invoke({ messages: [human("fork")] }, on(to));
      await chat(saver).invoke({ messages: [human("main")] }, on(id));
      const { status } = await merge(chat(saver), id, { threadId: to }, { strategy: { sum: "reducer" } });
      expect(status).toBe("merged");
      const { values } = await chat(saver).getState(on(id));
      expect(values.messages).toHaveLength(6);
      expect(values.sum).toBe(3);
      expect((await lineage(saver, to)).map(({ threadId }) => threadId)).toEqual([id]);
      expect((await branches(saver, id)).map(({ threadId }) => threadId)).toContain(to);
    }
  });

  test("what isn't there, or isn't an id, is an error that names it, and nothing is written", async () => {
    await chat(saver).invoke({ messages: [human("base")] }, on("e"));
    const there: Point = { threadId: "e" };
    for (const [from, to, error] of [
      [{ threadId: "nobody" }, "e1", { code: "NOT_FOUND" }],
      [{ ...there, checkpointId: "none" }, "e1", { code: "NOT_FOUND" }],
      [{ ...there, namespace: "none" }, "e1", { code: "NOT_FOUND" }],
      [{ threadId: "" }, "e1", { code: "INVALID_ADDRESS", data: { field: "from.threadId" } }],
      [
        { ...there, checkpointId: "" },
        "e1",
        { code: "INVALID_ADDRESS", data: { field: "from.checkpointId" } },
      ],
      [there, "", { code: "INVALID_ADDRESS", data: { field: "to" } }],
      [there, "\ud800", { code: "INVALID_ADDRESS", data: { field: "to" } }],
      [there, "e", { code: "THREAD_EXISTS", data: { threadId: "e" } }],
    ] as const)
      await expect(fork(saver, from, { to })).rejects.toMatchObject(error);
    await expect(forkMany(saver, there, ["e1", ""])).rejects.toMatchObject({ code: "INVALID_ADDRESS" });
    expect(await forkMany(saver, there, [])).toEqual([]);
    expect(await forkMany(saver, there, 0)).toEqual([]);
    expect((await saver.tier.peek({ threadId: "e1", namespace: "" })).head).toBeUndefined();
    await expect(merge(chat(saver), "e", { threadId: "nobody" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    await expect(merge(chat(saver), "e", { threadId: "" })).rejects.toMatchObject({
      code: "INVALID_ADDRESS",
    });
  });

  test("forks that race for one name: one is made, the others are told", async () => {
    await chat(saver).invoke({ messages: [human("base")] }, on("c"));
    const raced = await Promise.allSettled(
      Array.from({ length: 6 }, () => fork(saver, { threadId: "c" }, { to: "c1" })),
    );
    expect(raced.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of raced)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "THREAD_EXISTS" });
    expect(await lineage(saver, "c1")).toHaveLength(1);
  });

  test("a deleted thread's name is free again", async () => {
    await chat(saver).invoke({ messages: [human("base")] }, on("g"));
    await fork(saver, { threadId: "g" }, { to: "g1" });
    await saver.deleteThread("g1");
    await fork(saver, { threadId: "g" }, { to: "g1" });
    await chat(saver).invoke({ messages: [human("on")] }, on("g1"));
    expect((await chat(saver).getState(on("g1"))).values.messages).toHaveLength(4);
  });

  test("forks of a thread that runs, is pruned and is deleted meanwhile: whole states, or an error", async () => {
    await chat(saver).invoke({ messages: [human("0")] }, on("w"));
    let running = true;
    const work = async (): Promise<void> => {
      for (let turn = 1; turn <= 12; turn += 1) {
        await chat(saver).invoke({ messages: [human(`${turn}`)] }, on("w"));
        if (turn % 4 === 0) await saver.prune(["w"], { strategy: "keep_latest" });
      }
      running = false;
      await saver.deleteThread("w");
    };
    const made: string[] = [];
    const forking = async (): Promise<void> => {
      for (let last = false; !last;) {
        last = !running;
        try {
          made.push((await fork(saver, { threadId: "w" })).threadId);
        } catch (error) {
          expect(error).toMatchObject({ code: "NOT_FOUND" });
        }
        await turn();
      }
    };
    await Promise.all([work(), forking(), forking()]);
    expect(made.length).toBeGreaterThan(0);
    for (const threadId of made) {
      await chat(saver).invoke(null, on(threadId));
      const { values, next } = await chat(saver).getState(on(threadId));
      expect(next).toEqual([]);
      const texts = textOf(values.messages);
      const turns = texts.length / 2;
      expect(texts).toEqual(Array.from({ length: turns }, (_, n) => [`${n}`, `re: ${n}`]).flat());
    }
  });
});
