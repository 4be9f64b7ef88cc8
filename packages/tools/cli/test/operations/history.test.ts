import { Command, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { fork, merge, undo } from "@stratigraph/branch";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { TieredSaver } from "@stratigraph/tiered";
import { expect, test } from "vitest";
import { asking, chat, human, nested, on } from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { longThread, putValues } from "./support/threads.ts";
import { allRounds } from "../../../../../test/rounds.ts";

interface Row {
  readonly checkpoint: string;
  readonly short: string;
  readonly parents: readonly string[];
  readonly step: number;
  readonly source: string;
  readonly nodes: readonly string[];
  readonly bytes: number;
  readonly head: boolean;
  readonly lostTo?: string;
  readonly waits?: string;
  readonly forks: readonly string[];
}
interface Page {
  readonly items: readonly Row[];
  readonly cursor?: string;
}

async function pages(saver: TierSaver, thread: string, limit: number, namespace = ""): Promise<Page[]> {
  const found: Page[] = [];
  for (let cursor: string | undefined; ;) {
    const page: Page = await run("history", { thread, limit, namespace, cursor }, testContext(saver));
    found.push(page);
    if (page.cursor === undefined) return found;
    cursor = page.cursor;
  }
}

test("a tree with time travel, a lost race, a fork and a merge", async () => {
  const saver = new MemorySaver({ conflict: "branch" });
  const graph = chat(saver);
  await graph.invoke({ messages: [human("one", "m1")] }, on("ada"));
  const { config } = await graph.getState(on("ada"));
  const early = config.configurable!["checkpoint_id"] as string;
  await fork(saver, { threadId: "ada" }, { to: "ada/b" });
  await graph.invoke({ messages: [human("side", "m2")] }, on("ada/b"));
  await graph.invoke({ messages: [human("two", "m3")] }, on("ada"));
  await merge(graph, "ada", "ada/b", { strategy: { sum: "ours" } });
  // Two writers that both begin at the same head: the later one loses.
  const lost = await putValues(saver, "ada", { note: "late" }, early);
  const [forked] = await pages(saver, "ada/b", 50);
  expect(rendered("history", forked)).toContain("forked from ada");
  expect(rendered("history", forked)).not.toContain("isn't here");
  const [page] = await pages(saver, "ada", 50);
  const rows = new Map(page!.items.map((row) => [row.checkpoint, row]));
  expect(rows.get(early)).toMatchObject({ forks: ["ada/b"], nodes: ["answer"], step: 1, source: "loop" });
  expect(rows.get(lost)).toMatchObject({ head: false, parents: [early] });
  expect(page!.items.filter(({ head }) => head)).toHaveLength(1);
  expect(page!.items.find(({ source }) => source === "update")!.parents).toHaveLength(2);
  const text = rendered("history", page);
  expect(text).toMatch(/merges/);
  expect(text).toMatch(/├ ╯|├ │ ╯|├ ╯/);
});

test("pages join to the same tree as one page, and short ids resolve", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  for (let n = 0; n < 6; n += 1) await graph.invoke({ messages: [human(`${n}`, `m${n}`)] }, on("ada"));
  const states = [];
  for await (const state of graph.getStateHistory(on("ada"))) states.push(state.config);
  for (const config of states.slice(3, 9)) await graph.updateState(config, { title: "side" });
  const whole = (await pages(saver, "ada", 1000))[0]!;
  const parts = await pages(saver, "ada", 5);
  expect(parts.flatMap(({ items }) => items)).toEqual(whole.items);
  const treeOf = (page: Page): string[] =>
    rendered("history", page)
      .split("\n")
      .slice(1)
      .filter((line) => /[●├]/.test(line))
      .map((line) => line.replace(/ {2,}.*/s, ""));
  expect(parts.flatMap(treeOf)).toEqual(treeOf(whole));
  for (const { checkpoint, short } of whole.items)
    expect(await run("show", { at: `ada@${short}` }, testContext(saver))).toMatchObject({ checkpoint });
});

test.runIf(allRounds)("a page of 20,000 checkpoints reads a page", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const saver = new TierSaver(tier);
  const ids = await longThread(saver, "long", 20_000);
  let listed = 0;
  const list = tier.list.bind(tier);
  tier.list = async function* (query) {
    for await (const each of list(query)) {
      listed += 1;
      yield each;
    }
  };
  const context = testContext(saver);
  tier.reset();
  const first = await run<Page>("history", { thread: "long", limit: 50 }, context);
  expect(first.items.map(({ checkpoint }) => checkpoint)).toEqual(ids.slice(-50).toReversed());
  expect(listed).toBeLessThan(60);
  expect(tier.count("blobs")).toBeLessThanOrEqual(1);
  const second = await run<Page>("history", { thread: "long", limit: 50, cursor: first.cursor }, context);
  expect(second.items.map(({ checkpoint }) => checkpoint)).toEqual(ids.slice(-100, -50).toReversed());
  expect(listed).toBeLessThan(120);
});

test("a task that failed, ran again and asks something waits for an answer; one that was answered and fails has failed", async () => {
  const checkpointer = new MemorySaver();
  const steps = ["fail", "ask", "answered, and fails"];
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("work", () => {
      if (steps.shift() === "fail") throw new Error("first try");
      interrupt("May I?");
      throw new Error("after the answer");
    })
    .addEdge(START, "work")
    .compile({ checkpointer });
  const waits = async (): Promise<unknown[]> => {
    const [page] = await pages(checkpointer, "t", 50);
    const [listed] = (
      await run<{ items: { details?: { waits?: string } }[] }>(
        "threads",
        { details: true },
        testContext(checkpointer),
      )
    ).items;
    return [page!.items[0]!.waits, listed!.details!.waits];
  };
  await expect(graph.invoke({ messages: [] }, on("t"))).rejects.toThrow("first try");
  expect(await waits()).toEqual(["error", "error"]);
  await graph.invoke(null, on("t"));
  expect(await waits()).toEqual(["interrupt", "interrupt"]);
  await expect(graph.invoke(new Command({ resume: "yes" }), on("t"))).rejects.toThrow("after the answer");
  expect(await waits()).toEqual(["error", "error"]);
});

test("a question that was answered, by a resume or by a fork that was merged, waits for nothing", async () => {
  const saver = new MemorySaver();
  const graph = asking(saver);
  const waiting = async (thread: string): Promise<number[]> =>
    (await pages(saver, thread, 2))
      .flatMap(({ items }) => items)
      .flatMap(({ waits, step }) => (waits === undefined ? [] : [step]));
  await graph.invoke({ log: ["start"] }, on("resumed"));
  expect(await waiting("resumed")).toEqual([0]);
  const asked = await run<{ checkpoint: string }>("show", { at: "resumed" }, testContext(saver));
  expect(rendered("show", asked)).toContain("for an answer to an interrupt");
  await graph.invoke(new Command({ resume: "yes" }), on("resumed"));
  expect(await waiting("resumed")).toEqual([]);
  const past = await run("show", { at: "resumed", checkpoint: asked.checkpoint }, testContext(saver));
  expect(rendered("show", past)).not.toContain("for an answer");

  await graph.invoke({ log: ["start"] }, on("merged"));
  await fork(saver, { threadId: "merged" }, { to: "merged/f" });
  await graph.invoke(new Command({ resume: "yes" }), on("merged/f"));
  await merge(graph, "merged", "merged/f");
  expect(await waiting("merged")).toEqual([]);
  // The head goes back: there it waits again, though the merge is above it.
  await undo(saver, "merged");
  expect(await waiting("merged")).toEqual([0]);

  // Another input instead of an answer: only the newest question waits.
  await graph.invoke({ log: ["start"] }, on("passed"));
  await graph.invoke({ log: ["anew"] }, on("passed"));
  expect(await waiting("passed")).toEqual([2]);
});

test("interrupts, namespaces of subgraphs, pruned parents, hostile ids", async () => {
  const saver = new MemorySaver();
  const evil = "e\u001b[2Jvil 🙂\u202e";
  await asking(saver).invoke({ log: ["start"] }, on(evil));
  const [page] = await pages(saver, evil, 50);
  expect(page!.items[0]).toMatchObject({ waits: "interrupt", head: true });
  await nested(saver).invoke({ log: ["start"] }, on("n"));
  const namespaces = new Set<string>();
  for await (const { config } of saver.list({ configurable: { thread_id: "n" } }))
    namespaces.add(config.configurable!["checkpoint_ns"] as string);
  for (const namespace of namespaces)
    expect((await pages(saver, "n", 2, namespace)).length).toBeGreaterThan(0);
  const asked: { namespaces: string[] } = await run(
    "history",
    { thread: "n", namespaces: true },
    testContext(saver),
  );
  expect(asked.namespaces).toEqual([...namespaces].filter((each) => each !== "").sort());
  for (let n = 0; n < 4; n += 1) await putValues(saver, evil, { n });
  await saver.prune([evil], { strategy: "keep_latest", keepLast: 2 });
  const text = rendered("history", (await pages(saver, evil, 50))[0]);
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  expect(text).toContain("which isn't here");
  await expect(run("history", { thread: "nobody" }, testContext(saver))).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  await expect(run("history", { thread: evil, cursor: "x" }, testContext(saver))).rejects.toMatchObject({
    code: "INVALID_OPTION",
  });
});

test("a tier that doesn't answer is named, and an evicted thread has nothing to show", async () => {
  const hot = new FaultyTier(new MemoryTier(), "cache");
  const saver = new TieredSaver({ hot, warm: new MemoryTier() });
  await chat(saver).invoke({ messages: [human("one")] }, on("ada"));
  hot.failNext("list", new Error("it is away"));
  const page = await run<Page & { missing: string[] }>("history", { thread: "ada" }, testContext(saver));
  expect(page.missing).toEqual(["hot:cache"]);
  expect(page.items).toHaveLength(3);
  expect(rendered("history", page)).toContain("The tier hot:cache didn't answer");
  await saver.end();
  const alone = new MemorySaver();
  await chat(alone).invoke({ messages: [human("one")] }, on("ada"));
  const { revision } = await alone.tier.peek({ threadId: "ada", namespace: "" });
  await alone.tier.evict("ada", revision);
  for (const [name, input] of [
    ["history", { thread: "ada" }],
    ["show", { at: "ada" }],
  ] as const)
    await expect(run(name, input, testContext(alone))).rejects.toMatchObject({ code: "EVICTED" });
  await alone.deleteThread("ada");
  for (const [thread, what] of [
    ["nobody", "has no checkpoints"],
    ["ada", "was deleted"],
  ] as const)
    await expect(run("history", { thread }, testContext(alone))).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringContaining(`Thread "${thread}" ${what}.`),
    });
});
