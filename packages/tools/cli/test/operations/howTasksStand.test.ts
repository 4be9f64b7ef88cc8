import { Annotation, Command, interrupt, Send, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { describe, expect, test, vi } from "vitest";
import { on } from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";

describe("how tasks stand, in every door, as LangGraph's own state says it", () => {
  const Log = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const ask = (name: string, then: () => void = () => {}) => {
    return () => {
      const answer = String(interrupt(`${name}?`));
      then();
      return { log: [`${name} ${answer}`] };
    };
  };
  const builder = (a: () => { log: string[] }, b: () => { log: string[] }) =>
    new StateGraph(Log).addNode("a", a).addNode("b", b).addEdge(START, "a").addEdge(START, "b");
  interface Standing {
    readonly getState: (config: object) => Promise<{
      readonly next: readonly string[];
      readonly tasks: readonly { name: string; interrupts: readonly { id?: string; value?: unknown }[] }[];
    }>;
  }
  const idOf = async (graph: Standing, name: string) =>
    (await graph.getState(on("t"))).tasks.find((task) => task.name === name)!.interrupts[0]!.id!;
  const doors = async (saver: MemorySaver) => {
    const context = testContext(saver);
    const shown = await run<{ next: string[] }>("show", { at: "t" }, context);
    const { items } = await run<{ items: { next: string[]; says?: object }[] }>(
      "glance",
      { threads: ["t"] },
      context,
    );
    const written = await run<{ made: Outcome[]; pending: Outcome[] }>("writes", { at: "t" }, context);
    const outcomes = (tasks: readonly Outcome[]) =>
      Object.fromEntries(tasks.flatMap(({ node, outcome }) => (node === undefined ? [] : [[node, outcome]])));
    return {
      show: shown.next,
      text: rendered("show", shown),
      part: rendered("show", await run<{ next: string[] }>("show", { at: "t", channel: "log" }, context)),
      glance: items[0]!.next,
      says: items[0]!.says,
      made: outcomes(written.made),
      pending: outcomes(written.pending),
      writes: rendered("writes", written),
    };
  };
  interface Outcome {
    readonly node?: string;
    readonly outcome: string;
  }

  test("one of two questions was answered, then both", async () => {
    const saver = new MemorySaver();
    const graph = builder(ask("a"), ask("b")).compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("t"));
    await graph.invoke(new Command({ resume: { [await idOf(graph, "a")]: "yes" } }), on("t"));
    const { next } = await graph.getState(on("t"));
    const found = await doors(saver);
    expect(found).toMatchObject({
      show: next,
      glance: next,
      says: { kind: "question", by: "b", text: "b?" },
    });
    expect(found.pending).toEqual({ a: "done", b: "interrupted" });
    expect(found.part).toMatch(/waits +for an answer to an interrupt$/m);
    await graph.invoke(new Command({ resume: { [await idOf(graph, "b")]: "yes" } }), on("t"));
    const ended = await doors(saver);
    expect(ended.made).toEqual({ a: "done", b: "done" });
    expect(ended.writes).not.toContain("waits");
  });

  test("one was answered and failed while another waits, then a retry ended it", async () => {
    const saver = new MemorySaver();
    let broken = true;
    const fails = () => {
      if (broken) throw new Error("no such city");
    };
    const graph = builder(ask("a", fails), ask("b")).compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("t"));
    const answer = graph.invoke(new Command({ resume: { [await idOf(graph, "a")]: "yes" } }), on("t"));
    await answer.catch(() => undefined);
    const failed = await doors(saver);
    expect(failed.text).toMatch(/waits +for an answer to an interrupt$/m);
    expect(failed.text).toMatch(/failed +a$/m);
    expect(failed.says).toMatchObject({ kind: "question", by: "b" });
    expect(failed.pending).toEqual({ a: "failed", b: "interrupted" });
    broken = false;
    await graph.invoke(null, on("t"));
    const { next } = await graph.getState(on("t"));
    const retried = await doors(saver);
    expect(retried).toMatchObject({ show: next, glance: next, says: { by: "b" } });
    expect(retried.text).not.toMatch(/^failed/m);
    expect(retried.pending).toEqual({ a: "done", b: "interrupted" });
  });

  test("a task that had written when another one's failure aborted it isn't run again", async () => {
    const saver = new MemorySaver();
    let broken = true;
    const graph = builder(
      () => {
        if (broken) throw new Error("no such city");
        return { log: ["a"] };
      },
      () => ({ log: ["b"] }),
    )
      .addNode("c", ask("c"))
      .addEdge(START, "c" as never)
      .compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("t")).catch(() => undefined);
    const { next } = await graph.getState(on("t"));
    const found = await doors(saver);
    expect(found).toMatchObject({ show: next, glance: next, says: { kind: "question", by: "c" } });
    expect(found.pending).toEqual({ a: "failed", b: "done", c: "interrupted" });
    expect(found.text).toMatch(/failed +a$/m);
    broken = false;
    await graph.invoke(null, on("t"));
    const retried = await doors(saver);
    expect(retried).toMatchObject({ show: ["c"], glance: ["c"] });
    // The process dies before it stores what the step came to: nothing but the abortion is left to tell.
    const put = vi.spyOn(saver, "put").mockRejectedValue(new Error("killed"));
    await graph.invoke(new Command({ resume: "yes" }), on("t")).catch(() => undefined);
    put.mockRestore();
    expect((await doors(saver)).pending).toEqual({ a: "done", b: "done", c: "done" });
    expect(await run("compare", { threads: ["t"] }, testContext(saver))).toBeDefined();
    await graph.invoke(null, on("t"));
    expect((await graph.getState(on("t"))).next).toEqual([]);
    expect(retried.pending).toEqual({ a: "done", b: "done", c: "interrupted" });
  });

  test("a task that wrote and failed by itself, in its conditional edge, is told as failed", async () => {
    const saver = new MemorySaver();
    const graph = new StateGraph(Log)
      .addNode("a", () => ({ log: ["a"] }))
      .addEdge(START, "a")
      .addConditionalEdges("a", (): string => {
        throw new Error("no such city");
      })
      .compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("t")).catch(() => undefined);
    const found = await doors(saver);
    expect(found.pending).toEqual({ a: "failed" });
    expect(found.text).toMatch(/failed +a$/m);
    expect(found.says).toMatchObject({ kind: "error" });
  });

  test("a Send waits beside one to the same node that ended", async () => {
    const saver = new MemorySaver();
    const graph = new StateGraph(Log)
      .addNode("head", () => ({}))
      .addNode("sent", (state: { q?: boolean }) => (state.q === true ? ask("q")() : { log: ["done"] }))
      .addEdge(START, "head")
      .addConditionalEdges("head", () => [new Send("sent", { q: true }), new Send("sent", { q: false })])
      .compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("t"));
    const { next } = await graph.getState(on("t"));
    expect(await doors(saver)).toMatchObject({ show: next, glance: next, says: { text: "q?" } });
  });

  test("a deferred node is due once the others have ended, one that a barrier leads to, too", async () => {
    const saver = new MemorySaver();
    const log = (name: string) => () => ({ log: [name] });
    const graph = new StateGraph(Log)
      .addNode("a", log("a"))
      .addNode("b", log("b"))
      .addNode("c", log("c"))
      .addNode("last", log("last"), { defer: true })
      .addNode("joined", log("joined"), { defer: true })
      .addEdge(START, "a")
      .addEdge(START, "b")
      .addEdge("a", "c")
      .addEdge("a", "last")
      .addEdge(["a", "b"], "joined")
      .compile({ checkpointer: saver, interruptBefore: ["c", "last", "joined"] });
    for (let input: object | null = { log: [] }; ; input = null) {
      await graph.invoke(input, on("t"));
      const { next } = await graph.getState(on("t"));
      const found = await doors(saver);
      expect({ show: found.show.toSorted(), glance: found.glance.toSorted() }).toEqual({
        show: next.toSorted(),
        glance: next.toSorted(),
      });
      if (next.length === 0) break;
    }
  });

  test("a subgraph asks two questions at once", async () => {
    const saver = new MemorySaver();
    const graph = new StateGraph(Log)
      .addNode("inner", builder(ask("a"), ask("b")).compile())
      .addEdge(START, "inner")
      .compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("t"));
    const { tasks } = await graph.getState(on("t"));
    const asked = tasks.flatMap(({ interrupts }) => interrupts).length;
    expect((await doors(saver)).text).toMatch(
      new RegExp(`waits +for an answer to ${asked === 1 ? "an interrupt" : `${asked} interrupts`}$`, "m"),
    );
  });

  test("what a task wrote before it was left without an answer isn't told to wait", async () => {
    const saver = new MemorySaver();
    const graph = builder(ask("a"), ask("b")).compile({ checkpointer: saver });
    await graph.invoke({ log: [] }, on("t"));
    await graph.updateState(on("t"), { log: ["by hand"] }, "a");
    const found = await doors(saver);
    expect(found.writes.split("PENDING")[0]).not.toContain("waits");
  });
});
