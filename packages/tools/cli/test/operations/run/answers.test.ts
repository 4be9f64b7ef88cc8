import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { withThread } from "@stratigraph/service";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { on } from "../../../../../features/branch/test/support/graphs.ts";
import { answerProblems, schemaFault } from "../../../src/operations/run/answerSchema.ts";
import type { OutputOf } from "../../../src/operations/index.ts";
import { ran } from "../support/ran.ts";

type Ran = OutputOf<"run">;
const Out = Annotation.Root({ out: Annotation<unknown> });
const asks = interrupt as (value: unknown, options?: { responseSchema?: unknown }) => unknown;

function asking(checkpointer: TierSaver, ask: () => unknown) {
  return new StateGraph(Out)
    .addNode("ask", () => ({ out: ask() }))
    .addEdge(START, "ask")
    .compile({ checkpointer });
}

/** A thread that waits, and what is done to it. */
async function begun(ask: () => unknown, id = "ada") {
  const saver = new MemorySaver();
  const graph = asking(saver, ask);
  await graph.invoke({ out: "" }, on(id));
  const run = async (input: object, given: object = {}) =>
    await ran<Ran>("run", { at: id, ...input }, saver, { graph, ...given });
  const waiting = async () => (await run({ dryRun: true })).output.interrupts;
  const answer = async (answers: object, more: object = {}, given: object = {}) =>
    await run({ resume: JSON.stringify(answers), ...more }, given);
  return { saver, graph, run, waiting, answer, out: async () => (await graph.getState(on(id))).values.out };
}

/** From LangGraph 1.7 on each question of a node has LangGraph's own id, from 1.5 on a schema. */
const probe = await begun(() => [asks("one?", { responseSchema: z.number() }), asks("two?")], "probe");
const [probed] = await probe.waiting();
const hasSchemas = probed!.schema !== undefined;
await probe.answer({ [probed!.id]: 1 });
const hasOwnIds = !(await probe.waiting())[0]!.id.includes("#");

test("an answer given twice answers no second question of the node, in any version", async () => {
  const { run, waiting, answer, out, graph } = await begun(() => [asks("one?"), asks("two?"), asks("one?")]);
  const seen: string[] = [];
  for (const text of ["A", "B", "C"]) {
    const [question, ...others] = await waiting();
    expect(others).toEqual([]);
    seen.push(question!.id);
    await answer({ [question!.id]: text });
    if (text === "C") break;
    for (const late of seen)
      await expect(answer({ [late]: "again" })).rejects.toMatchObject({
        code: "NOT_WAITING",
        data: { named: [late], waiting: [(await waiting())[0]!.id] },
      });
    // It isn't given to the next question if the run is continued without an answer.
    await run({});
    expect(await out()).toBe("");
  }
  expect(new Set(seen).size).toBe(3);
  expect(await out()).toEqual(["A", "B", "C"]);
  if (!hasOwnIds) expect(seen[2]).toBe(`${seen[0]}#2`);
  await expect(answer({ [seen[2]!]: "again" })).rejects.toMatchObject({ code: "NOT_WAITING" });
  for await (const { metadata } of graph.getStateHistory(on("ada")))
    expect(JSON.stringify(metadata)).not.toContain("strict");
});

test("nor does it in a subgraph", async () => {
  const saver = new MemorySaver();
  const graph = new StateGraph(Out)
    .addNode(
      "sub",
      asking(undefined as never, () => [asks("one?"), asks("two?"), asks("three?")]),
    )
    .addEdge(START, "sub")
    .compile({ checkpointer: saver });
  await graph.invoke({ out: "" }, on("ada"));
  const run = async (input: object) =>
    (await ran<Ran>("run", { at: "ada", ...input }, saver, { graph })).output;
  const seen: string[] = [];
  for (const text of ["A", "B", "C"]) {
    const [question] = (await run({ dryRun: true })).interrupts;
    for (const late of seen)
      await expect(run({ resume: `{"${late}":"again"}` })).rejects.toMatchObject({ code: "NOT_WAITING" });
    await run({ resume: `{"${question!.id}":"${text}"}` });
    seen.push(question!.id);
  }
  expect((await graph.getState(on("ada"))).values.out).toEqual(["A", "B", "C"]);
});

test("an answer while another run works on the thread under its lock is refused, whoever it is", async () => {
  const { saver, waiting, answer, out } = await begun(() => asks("one?"));
  const [question] = await waiting();
  await withThread(saver, "ada", async () => {
    await expect(answer({ [question!.id]: "late" })).rejects.toMatchObject({ code: "THREAD_BUSY" });
  });
  expect(await out()).toBe("");
  const both = await Promise.allSettled(["A", "B"].map((text) => answer({ [question!.id]: text })));
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  const refused = both.find(({ status }) => status === "rejected") as PromiseRejectedResult;
  expect(refused.reason).toMatchObject({ code: "NOT_WAITING" });
});

test.skipIf(!hasOwnIds)(
  "an answer given elsewhere a moment before is seen by LangGraph, which writes nothing",
  async () => {
    const { graph, waiting, answer, out } = await begun(() => [asks("one?"), asks("two?")]);
    const [question] = await waiting();
    // Between our look and the run's own.
    const late = Object.create(graph) as typeof graph;
    late.stream = (async (input: never, options: never) => {
      await graph.invoke(new Command({ resume: { [question!.id]: "first" } }), on("ada"));
      return await graph.stream(input, options);
    }) as never;
    const refused = await answer({ [question!.id]: "second" }, {}, { graph: late }).catch(
      (error: unknown) => error,
    );
    const [next] = await waiting();
    expect(refused).toMatchObject({
      code: "NOT_WAITING",
      data: { named: [question!.id], waiting: [next!.id] },
    });
    expect(next!.value.value).toBe("two?");
    await answer({ [next!.id]: "third" });
    expect(await out()).toEqual(["first", "third"]);
  },
);

describe.skipIf(!hasSchemas)("a question with a schema", () => {
  const schema = z.object({ price: z.number().min(3), by: z.enum(["rail", "air"]) });

  test("shows it, and takes only what fits, before anything runs", async () => {
    let runs = 0;
    const { run, waiting, answer, out } = await begun(() => {
      runs += 1;
      return asks("Which trip?", { responseSchema: schema });
    });
    const [question] = await waiting();
    expect(question!.schema).toMatchObject({ type: "object", required: ["price", "by"] });
    for (const resume of ['{"price":1,"by":"sea"}', `{"${question!.id}":{"price":1,"by":"sea"}}`])
      for (const dryRun of [true, false])
        await expect(run({ resume, dryRun })).rejects.toMatchObject({
          code: "INVALID_OPTION",
          message: expect.stringContaining(
            "ask/price: expected at least 3; ask/by: expected one of",
          ) as string,
          data: { issues: [{ path: `resume/${question!.id}/price`, expected: "at least 3" }, {}] },
        });
    expect(runs).toBe(1);
    await answer({ price: 3, by: "rail" });
    expect(await out()).toEqual({ price: 3, by: "rail" });
  });

  test("takes what doesn't fit if the person insists, and waits on if the node refuses that", async () => {
    const { waiting, answer, out } = await begun(() => asks("Which trip?", { responseSchema: schema }));
    const [question] = await waiting();
    const failed = await answer({ price: 1, by: "sea" }, { unchecked: true });
    expect(failed.output).toMatchObject({ outcome: "failed", interrupts: [{ id: question!.id }] });
    expect(failed.text).toContain("ask asks");
    await answer({ [question!.id]: { price: 5, by: "air" } });
    expect(await out()).toEqual({ price: 5, by: "air" });
  });

  test("whose zod says more than its JSON Schema, waits on after a refusal, in a subgraph, too", async () => {
    const even = z.object({ n: z.number().refine((n) => n % 2 === 0, "even") });
    const twice = (): unknown => [asks("n?", { responseSchema: even }), asks("n?", { responseSchema: even })];
    const saver = new MemorySaver();
    const outer = new StateGraph(Out)
      .addNode("sub", asking(undefined as never, twice))
      .addEdge(START, "sub")
      .compile({ checkpointer: saver });
    for (const [graph, id] of [
      [asking(saver, twice), "flat"],
      [outer, "nested"],
    ] as const) {
      await graph.invoke({ out: "" }, on(id));
      const answer = async (n: number) =>
        (await ran<Ran>("run", { at: id, resume: `{"n":${n}}` }, saver, { graph })).output;
      for (const n of [2, 4]) {
        for (const odd of [1, 3])
          expect(await answer(odd)).toMatchObject({ outcome: "failed", interrupts: [{}] });
        expect((await answer(n)).outcome).toBe(n === 2 ? "interrupted" : "done");
      }
      expect((await graph.getState(on(id))).values.out).toEqual([{ n: 2 }, { n: 4 }]);
    }
  });

  test("that was accepted before its node failed isn't asked again: the run goes on", async () => {
    let fails = true;
    const { run, answer, out } = await begun(() => {
      const given = asks("n?", { responseSchema: z.number() });
      if (fails) throw new Error("the line was cut");
      return given;
    });
    expect((await answer(5 as never)).output).toMatchObject({ outcome: "failed", interrupts: [] });
    await expect(answer(6 as never)).rejects.toMatchObject({ code: "NOT_WAITING" });
    fails = false;
    await run({});
    expect(await out()).toBe(5);
  });

  test("that can't be used doesn't keep a person from answering, and is told", async () => {
    const { run, waiting, answer, out } = await begun(() => asks("?", { responseSchema: { type: "strin" } }));
    expect(await waiting()).toMatchObject([{ schemaFault: "/type isn't one of JSON's types" }]);
    expect((await run({ dryRun: true })).text).toContain("any JSON is taken as an answer");
    await answer({ anything: 1 });
    expect(await out()).toEqual({ anything: 1 });
  });

  test("is hidden where questions are", async () => {
    const { run } = await begun(() => asks("?", { responseSchema: schema }));
    const { output } = await run({ dryRun: true }, { redact: ["__interrupt__"] });
    expect(output.interrupts[0]).not.toHaveProperty("schema");
  });
});

test("faults of schemas are found, and what is none is taken", () => {
  const at = { $defs: { x: { type: "string", minLength: 3 } }, properties: { a: { $ref: "#/$defs/x" } } };
  for (const fine of [{}, { type: ["string", "null"] }, at, { items: { $ref: "#" }, type: "array" }])
    expect(schemaFault(fine), JSON.stringify(fine)).toBeUndefined();
  for (const bad of [
    5,
    null,
    { type: [] },
    { pattern: "(" },
    { properties: [] },
    { allOf: {} },
    { anyOf: [5] },
    { enum: [] },
    { required: "a" },
    { minLength: "3" },
    { $ref: "#" },
    { $ref: "#/$ref" },
    { $ref: "https://example.com/x" },
    { properties: { a: { $ref: "#/$defs/x" } } },
  ])
    expect(schemaFault(bad), JSON.stringify(bad)).toBeTypeOf("string");
  expect(answerProblems(at, { a: "s" })).toEqual([{ path: "a", expected: "at least 3 characters" }]);
});

test("a field with a default needn't be there, as zod fills it in", () => {
  const schema = z.toJSONSchema(
    z.object({ a: z.object({ by: z.string().default("rail"), to: z.string() }) }),
  );
  expect(answerProblems(schema, { a: { to: "Rome" } })).toEqual([]);
  expect(answerProblems(schema, { a: { by: 1 } })).toEqual([
    { path: "a", expected: '"to" beside it' },
    { path: "a/by", expected: "string" },
  ]);
});

test("problems say what is expected, and never what was found", () => {
  const schema = z.toJSONSchema(
    z.object({
      n: z.number().gt(2).lt(5).multipleOf(2),
      d: z.literal("x"),
      list: z.array(z.string().max(2)).min(2),
      when: z.string().regex(/^a/),
      either: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    }),
  );
  const secret = 4711;
  const problems = answerProblems(schema, {
    n: secret,
    d: secret,
    list: ["4711"],
    when: "4711",
    either: { c: secret },
    [`k`]: secret,
  });
  expect(JSON.stringify(problems)).not.toContain("4711");
  expect(problems).toEqual(
    expect.arrayContaining([
      { path: "n", expected: "less than 5" },
      { path: "n", expected: "a multiple of 2" },
      { path: "d", expected: '"x"' },
      { path: "list", expected: "at least 2 entries" },
      { path: "list/0", expected: "at most 2 characters" },
      { path: "when", expected: "text that matches ^a" },
      { path: "either", expected: "one of several forms" },
      { path: "k", expected: "nothing: there is no such field" },
    ]),
  );
  for (const [unusual, answer] of [
    [{ contains: { const: 1 } }, [2]],
    [{ if: { type: "number" }, else: { minLength: 2 } }, "x"],
    [{ propertyNames: { pattern: "^a" } }, { b: 1 }],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }],
    [{ prefixItems: [{ type: "string" }], items: false }, ["a", 1]],
    [{ not: { type: "null" } }, null],
    [{ allOf: [{ $ref: "#/$defs/x" }], $defs: { x: { type: "string" } } }, 1],
  ] as const)
    expect(answerProblems(unusual, answer), JSON.stringify(unusual)).not.toEqual([]);
  expect(answerProblems({ ...schema, $schema: "http://json-schema.org/draft-07/schema#" }, 1)).toEqual([
    { path: "", expected: "object" },
  ]);
});
