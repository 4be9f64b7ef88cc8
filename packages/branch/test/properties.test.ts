import { MemorySaver } from "@stratigraph/core";
import { fork, merge, mergeBase } from "@stratigraph/branch";
import { RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import fc from "fast-check";
import { diffValues } from "../src/diffValues.ts";
import { sameValue } from "../src/plainValue.ts";
import { unionValues, type UnionOrder } from "../src/unionValues.ts";
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

test("a diff is empty exactly where values are the same", () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(diffValues(a, a)).toEqual([]);
      expect(diffValues(a, b).length === 0).toBe(sameValue(a, b));
    }),
    { seed: 6, numRuns: 60 },
  );
});

/** One checkpoint of the reference: what it holds, and what it was made from. */
interface Commit {
  readonly messages: ReadonlySet<string>;
  readonly title: string;
  readonly parents: readonly number[];
  readonly at: { readonly threadId: string; readonly checkpointId: string };
}

/** Merging as it is meant to be, on sets: three-way from the nearest common ancestors, these merged with each other first. */
class Reference {
  readonly commits: Commit[] = [];

  ancestors(id: number): Set<number> {
    const found = new Set([id]);
    for (const one of found) for (const parent of this.commits[one]!.parents) found.add(parent);
    return found;
  }

  base(a: number, b: number): Pick<Commit, "messages" | "title"> {
    const ofB = this.ancestors(b);
    const common = [...this.ancestors(a)].filter((id) => ofB.has(id));
    const all = common
      .filter((id) => !common.some((other) => other !== id && this.ancestors(other).has(id)))
      .sort((x, y) => y - x);
    let base: Pick<Commit, "messages" | "title"> = this.commits[all[0]!]!;
    for (const id of all.slice(1)) {
      const before = this.base(all[0]!, id);
      base = this.three(before, base, this.commits[id]!, before.title);
    }
    return base;
  }

  three(
    base: Pick<Commit, "messages" | "title">,
    ours: Pick<Commit, "messages" | "title">,
    theirs: Pick<Commit, "messages" | "title">,
    otherwise: string,
  ): Pick<Commit, "messages" | "title"> {
    const kept = [...base.messages, ...ours.messages, ...theirs.messages].filter((id) =>
      base.messages.has(id) ? ours.messages.has(id) && theirs.messages.has(id) : true,
    );
    const title =
      theirs.title === base.title || ours.title === theirs.title
        ? ours.title
        : ours.title === base.title
          ? theirs.title
          : otherwise;
    return { messages: new Set(kept), title };
  }
}

test(
  "random histories of forks, changes, removals and merges, crosswise too, agree with a reference",
  { timeout: 120_000 },
  async () => {
    const State = Annotation.Root({ ...MessagesAnnotation.spec, title: Annotation<string>() });
    const operation = fc.record({
      kind: fc.constantFrom(
        "say",
        "remove",
        "remove",
        "title",
        "fork",
        "merge",
        "merge old",
        "cross",
        "cross",
      ),
      a: fc.nat({ max: 3 }),
      b: fc.nat({ max: 3 }),
      n: fc.nat({ max: 3 }),
    });
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 8, maxLength: 20 }), async (operations) => {
        const saver = new MemorySaver();
        const graph = new StateGraph(State)
          .addNode("noop", () => ({}))
          .addEdge(START, "noop")
          .compile({ checkpointer: saver });
        const headOf = async (threadId: string) => ({
          threadId,
          checkpointId: (await saver.tier.peek({ threadId, namespace: "" })).head!,
        });
        const model = new Reference();
        const tips: number[] = [0, 0];
        await graph.invoke({ messages: [human("0", "m0")], title: "t0" }, on("t0"));
        model.commits.push({ messages: new Set(["m0"]), title: "t0", parents: [], at: await headOf("t0") });
        await fork(saver, { threadId: "t0" }, { to: "t1" });
        const commit = async (i: number, parents: number[], parts: Pick<Commit, "messages" | "title">) => {
          model.commits.push({ ...parts, parents, at: await headOf(`t${i}`) });
          tips[i] = model.commits.length - 1;
        };
        const change = async (
          i: number,
          messages: ReadonlySet<string>,
          message: BaseMessage,
        ): Promise<void> => {
          await graph.updateState(on(`t${i}`), { messages: [message] });
          await commit(i, [tips[i]!], { messages, title: model.commits[tips[i]!]!.title });
        };
        const join = async (i: number, source: number): Promise<void> => {
          const tip = tips[i]!;
          const [mine, theirs] = [model.commits[tip]!, model.commits[source]!];
          const expected = model.ancestors(tip).has(source)
            ? "already-merged"
            : model.ancestors(source).has(tip)
              ? "fast-forward"
              : "merged";
          const { status } = await merge(graph, `t${i}`, theirs.at, { strategy: { title: "ours" } });
          expect(status).toBe(expected);
          if (status === "fast-forward") tips[i] = source;
          if (status === "merged")
            await commit(i, [tip, source], model.three(model.base(tip, source), mine, theirs, mine.title));
          seen.set(status, (seen.get(status) ?? 0) + 1);
        };
        for (const [step, { kind, a, b, n }] of operations.entries()) {
          const [i, j] = [a % tips.length, b % tips.length];
          const mine = model.commits[tips[i]!]!;
          if (kind === "fork") {
            if (tips.length > 3) continue;
            await fork(saver, { threadId: `t${i}` }, { to: `t${tips.length}` });
            tips.push(tips[i]!);
          } else if (kind === "say") {
            await change(i, new Set([...mine.messages, `s${step}`]), human(`${step}`, `s${step}`));
          } else if (kind === "remove") {
            const id = [...mine.messages].at(-1 - n);
            const left = new Set([...mine.messages].filter((one) => one !== id));
            if (id !== undefined) await change(i, left, new RemoveMessage({ id }));
          } else if (kind === "title") {
            await graph.updateState(on(`t${i}`), { title: `t${n % 3}` });
            await commit(i, [tips[i]!], { messages: mine.messages, title: `t${n % 3}` });
          } else {
            // Each side has something of its own before they take over from each other.
            if (kind === "cross")
              for (const k of new Set([i, j])) {
                const id = `s${step}-${k}`;
                await change(k, new Set([...model.commits[tips[k]!]!.messages, id]), human(id, id));
              }
            const [x, y] = [tips[i]!, tips[j]!];
            await join(i, kind === "merge old" ? (model.commits[y]!.parents[0] ?? y) : y);
            if (kind === "cross") await join(j, x);
          }
        }
        for (const [n, tip] of tips.entries()) {
          const { messages, title } = model.commits[tip]!;
          const { values, next } = await graph.getState(on(`t${n}`));
          expect(values.messages.map(({ id }: { id?: string }) => id).toSorted()).toEqual(
            [...messages].toSorted(),
          );
          expect(values.title).toBe(title);
          expect(next).toEqual([]);
          expect(await mergeBase(saver, { threadId: "t0" }, { threadId: `t${n}` })).toBeDefined();
          // With itself, and with a fork that did nothing: no change.
          const head = await headOf(`t${n}`);
          const same = await fork(saver, { threadId: `t${n}` });
          for (const source of [`t${n}`, same.threadId])
            expect((await merge(graph, `t${n}`, { threadId: source })).status).toBe("already-merged");
          expect((await merge(graph, same.threadId, { threadId: `t${n}` })).status).toBe("already-merged");
          expect(await headOf(`t${n}`)).toEqual(head);
        }
      }),
      { seed: 6, numRuns: 60 },
    );
    for (const status of ["already-merged", "fast-forward", "merged"])
      expect(seen.get(status)).toBeGreaterThan(3);
  },
);

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
