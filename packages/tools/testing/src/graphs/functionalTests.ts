import { Command, entrypoint, getPreviousState, interrupt, task } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import { Calls } from "./calls.ts";
import type { GraphContext } from "./context.ts";
import { historyOf, interruptValues } from "./snapshots.ts";

/** Adds its input to its previous result. */
const adder = (checkpointer: BaseCheckpointSaver) =>
  entrypoint(
    { name: "adder", checkpointer },
    async (input: number) => (getPreviousState<number>() ?? 0) + input,
  );

/** Returns one value and saves another for the next call. */
const separate = (checkpointer: BaseCheckpointSaver) =>
  entrypoint({ name: "separate", checkpointer }, async (input: string) => {
    const before = getPreviousState<string[]>() ?? [];
    return entrypoint.final({ value: before.length, save: [...before, input] });
  });

/** Two tasks with a question between them, and a third task. */
const essay = (checkpointer: BaseCheckpointSaver, calls: Calls, broken: { left: number }) => {
  const write = task("write", async (topic: string) => (calls.add("write"), `about ${topic}`));
  const check = task({ name: "check" }, async (text: string) => {
    calls.add("check");
    if (broken.left-- > 0) throw new Error("check is broken");
    return text.length;
  });
  return entrypoint({ name: "essay", checkpointer }, async (topic: string) => {
    const texts = await Promise.all([write(topic), write(`${topic} too`)]);
    const answer: string = interrupt({ texts });
    const length = await check(texts.join(" "));
    return { texts, answer, length };
  });
};

/** LangGraph's functional API: entrypoint and task. */
export const functionalTests = ({ test, saver, reopen, thread, durabilities }: GraphContext): void => {
  for (const durability of durabilities()) {
    test(`an entrypoint sees what it returned before, durability ${durability}`, async () => {
      const [one, two] = [
        { ...thread(), durability },
        { ...thread(), durability },
      ];
      expect(await adder(saver()).invoke(1, one)).toBe(1);
      expect(await adder(await reopen()).invoke(10, one)).toBe(11);
      expect(await adder(await reopen()).invoke(5, two)).toBe(5);
      expect(await adder(await reopen()).invoke(100, one)).toBe(111);
      expect((await adder(await reopen()).getState(one)).values).toBe(111);
    });

    test(`finished tasks do not run again after a question, durability ${durability}`, async () => {
      const calls = new Calls();
      const config = { ...thread(), durability };
      const broken = { left: 1 };
      await essay(saver(), calls, broken).invoke("cats", config);
      expect(calls.take()).toEqual(["write", "write"]);
      const graph = essay(await reopen(), calls, broken);
      const waiting = await graph.getState(config);
      expect(interruptValues(waiting)).toEqual([{ texts: ["about cats", "about cats too"] }]);
      expect(waiting.next).toEqual(["essay"]);
      await expect(graph.invoke(new Command({ resume: "fine" }), config)).rejects.toThrow("check is broken");
      expect(calls.take()).toEqual(["check"]);
      const expected = { texts: ["about cats", "about cats too"], answer: "fine", length: 25 };
      expect(await essay(await reopen(), calls, broken).invoke(null, config)).toEqual(expected);
      expect(calls.take()).toEqual(["check"]);
      const done = await essay(await reopen(), calls, broken).getState(config);
      expect([done.values, done.next]).toEqual([expected, []]);
    });
  }

  test("what is returned and what is remembered may differ", async () => {
    const config = thread();
    const results = [];
    for (const word of ["a", "b", "c"]) results.push(await separate(await reopen()).invoke(word, config));
    expect(results).toEqual([0, 1, 2]);
    const tuple = await (await reopen()).getTuple(config);
    expect(tuple?.checkpoint.channel_values["__previous__"]).toEqual(["a", "b", "c"]);
  });

  test("from an old checkpoint the memory of that time counts", async () => {
    const config = thread();
    for (const value of [1, 10, 100]) await adder(saver()).invoke(value, config);
    const graph = adder(await reopen());
    const ends = (await historyOf(graph, config)).filter((s) => s.next.length === 0);
    expect(ends.map((s): unknown => s.values)).toEqual([111, 11, 1]);
    expect(await graph.invoke(5, ends[2]?.config ?? {})).toBe(6);
    expect(await adder(await reopen()).invoke(1, config)).toBe(7);
    expect((await graph.getState(ends[0]?.config ?? {})).values).toBe(111);
  });
};
