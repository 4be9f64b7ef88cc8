import { MemorySaver } from "@stratigraph/core";
import { fork, merge } from "@stratigraph/branch";
import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import fc from "fast-check";
import { diffValues } from "../src/diffValues.ts";
import { sameValue } from "../src/plainValue.ts";
import type { UnionOrder } from "../src/union.ts";
import { unionValues } from "../src/unionValues.ts";
import { human, on } from "./support/graphs.ts";

const order = (): UnionOrder => ({ ours: "a", theirs: "b", taken: new Map() });
const swapped = (): UnionOrder => ({ ours: "b", theirs: "a", taken: new Map() });
const item = (id: string, text = id) => ({ id, text });
const ids = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 8 });
const json = fc.jsonValue({ maxDepth: 3 });

/** A list of items, edited: some changed, some removed, some added anywhere. */
function edited(base: readonly { id: string; text: string }[], mark: string) {
  const edit = fc.record({
    keep: fc.array(fc.constantFrom("keep", "keep", "drop", "change"), {
      minLength: base.length,
      maxLength: base.length,
    }),
    add: fc.array(fc.nat({ max: base.length }), { maxLength: 4 }),
  });
  return edit.map(({ keep, add }) => {
    const items = base.flatMap((one, n) =>
      keep[n] === "drop" ? [] : [keep[n] === "change" ? { ...one, text: `${one.text}${mark}` } : one],
    );
    add.forEach((at, n) => items.splice(Math.min(at, items.length), 0, item(`${mark}${n}`)));
    return items;
  });
}

const lists = ids.chain((numbers) => {
  const base = numbers.map((n) => item(`i${n}`));
  return fc.record({ base: fc.constant(base), ours: edited(base, "o"), theirs: edited(base, "t") });
});

test("a union doesn't depend on which side is ours, and loses nothing", () => {
  fc.assert(
    fc.property(lists, ({ base, ours, theirs }) => {
      const one = unionValues({ base, ours, theirs }, order());
      const other = unionValues({ base, ours: theirs, theirs: ours }, swapped());
      expect("value" in one).toBe("value" in other);
      if (!("value" in one) || !("value" in other)) return;
      expect(one.value).toEqual(other.value);
      const merged = one.value as { id: string; text: string }[];
      for (const [side, against] of [
        [ours, theirs],
        [theirs, ours],
      ] as const) {
        for (const one of side) {
          const before = base.find(({ id }) => id === one.id);
          const there = against.find(({ id }) => id === one.id);
          if (before === undefined) expect(merged).toContainEqual(one);
          else if (one.text !== before.text) expect(merged).toContainEqual(one);
          else if (there === undefined) expect(merged.map(({ id }) => id)).not.toContain(one.id);
        }
        // What one side added in one place stays together, in its order.
        const places = side
          .filter(({ id }) => !base.some((one) => one.id === id))
          .map(({ id }) => merged.findIndex((one) => one.id === id));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }
    }),
    { seed: 6, numRuns: 60 },
  );
});

test("a union with itself, with the base, or with no change is a no-op", () => {
  fc.assert(
    fc.property(fc.oneof(lists, fc.record({ base: json, ours: json, theirs: json })), ({ base, ours }) => {
      expect(unionValues({ base, ours, theirs: ours }, order())).toEqual({ value: ours });
      expect(unionValues({ base, ours, theirs: base }, order())).toEqual({ value: ours });
      expect(unionValues({ base, ours: base, theirs: ours }, order())).toEqual({ value: ours });
    }),
    { seed: 6, numRuns: 60 },
  );
});

test("disjoint changes of objects are all kept", () => {
  const object = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.integer(), { noNullPrototype: true });
  fc.assert(
    fc.property(object, object, object, (base, left, right) => {
      const ours = { ...base, left };
      const theirs = { ...base, right };
      expect(unionValues({ base, ours, theirs }, order())).toEqual({ value: { ...base, left, right } });
    }),
    { seed: 6, numRuns: 200 },
  );
});

test("what one side took out of a Set stays out, and what either put in is there", () => {
  const sides = {
    base: new Set(["a", "b", "c"]),
    ours: new Set(["b", "c", "d"]),
    theirs: new Set(["a", "b", "e"]),
  };
  expect(unionValues(sides, order())).toEqual({ value: new Set(["b", "d", "e"]) });
});

test("a diff names places by JSON pointers, whatever stands in the keys", () => {
  const found = diffValues({ "a/b": { "~": 1 } }, { "a/b": { "~": 2 } });
  expect(found).toEqual([{ kind: "changed", path: "/a~1b/~0", before: 1, after: 2 }]);
});

test("a diff is empty exactly where values are the same", () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(diffValues(a, a)).toEqual([]);
      expect(diffValues(a, b).length === 0).toBe(sameValue(a, b));
    }),
    { seed: 6, numRuns: 60 },
  );
});

test("disjoint changes of two forks merge to the same state either way round", async () => {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    left: Annotation<string>(),
    right: Annotation<string>(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.string(),
      fc.string(),
      fc.nat({ max: 3 }),
      fc.nat({ max: 3 }),
      async (left, right, more, others) => {
        const saver = new MemorySaver();
        const graph = new StateGraph(State)
          .addNode("noop", () => ({}))
          .addEdge(START, "noop")
          .compile({ checkpointer: saver });
        await graph.invoke({ messages: [human("base", "base")] }, on("base"));
        for (const to of ["a", "b", "a2", "b2"])
          await fork(saver, { threadId: to.length === 1 ? "base" : to[0]! }, { to });
        for (let n = 0; n < more; n += 1)
          await graph.updateState(on("a"), { messages: [human("a", `a${n}`)] });
        await graph.updateState(on("a"), { left: `l${left}` });
        await graph.updateState(on("b"), { right: `r${right}` });
        for (let n = 0; n < others; n += 1)
          await graph.updateState(on("b"), { messages: [human("b", `b${n}`)] });
        for (const [to, from] of [
          ["a2", "a"],
          ["b2", "b"],
        ] as const)
          expect((await merge(graph, to, { threadId: from })).status).toBe("fast-forward");
        await merge(graph, "a", { threadId: "b" });
        await merge(graph, "b2", { threadId: "a2" });
        const [one, other] = [await graph.getState(on("a")), await graph.getState(on("b2"))];
        expect(one.values).toEqual(other.values);
        expect(one.values).toMatchObject({ left: `l${left}`, right: `r${right}` });
      },
    ),
    { seed: 6, numRuns: 8 },
  );
});
