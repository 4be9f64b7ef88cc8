import { RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { fork, merge, mergeBase } from "@stratigraph/branch";
import { MemorySaver } from "@stratigraph/core";
import fc from "fast-check";
import { human, on } from "./support/graphs.ts";
import { Reference, type Commit } from "./support/reference.ts";
import { inRounds } from "../../../../test/rounds.ts";

const numRuns = inRounds({ few: 20, all: 60 });

test("random histories of forks, changes, removals and merges, crosswise too, agree with a reference", async () => {
  const State = Annotation.Root({ ...MessagesAnnotation.spec, title: Annotation<string>() });
  const operation = fc.record({
    kind: fc.constantFrom("say", "remove", "remove", "title", "fork", "merge", "merge old", "cross", "cross"),
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
    { seed: 6, numRuns },
  );
  for (const status of ["already-merged", "fast-forward", "merged"])
    expect(seen.get(status)).toBeGreaterThan(numRuns / 20);
});
