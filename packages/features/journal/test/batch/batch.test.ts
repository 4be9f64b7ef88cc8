import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runChild } from "../../../../../test/servers/children.ts";
import { inRounds } from "../../../../../test/rounds.ts";
import { batch, createJournal, type BatchOptions, type Journal } from "../../src/index.ts";
import { on } from "../support/booking.ts";
import { savers, type OpenedSaver } from "../support/places.ts";
import { every, total, type BatchDone, type BatchOrders } from "./killed.ts";

const script = join(import.meta.dirname, "killedChild.ts");
const range = (length: number): string[] => Array.from({ length }, (_, n) => `item ${n}`);
const named = { id: "test", key: (item: string) => item };

describe.each(savers)("a batch on %s", (name, open) => {
  let opened: OpenedSaver;
  let journal: Journal;
  let folder: string;
  let appends = 0;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "batch-"));
    opened = await open();
    journal = createJournal(opened.saver);
    const { tier } = opened.saver;
    const append = tier.append.bind(tier);
    tier.append = async (request) => {
      if (request.heads.some(({ namespace }) => namespace === reservedNamespaces.calls)) appends += 1;
      return await append(request);
    };
  });
  afterAll(async () => {
    await journal?.end();
    await opened?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a batch and tells which items it worked on. */
  async function run(
    thread: string,
    items: readonly string[],
    options: Partial<BatchOptions<string>> = {},
    work: (item: string) => unknown = () => undefined,
  ) {
    const worked: string[] = [];
    const result = await batch(journal, on(thread), items, { ...named, ...options }, async (item) => {
      worked.push(item);
      return await work(item);
    });
    return { ...result, worked };
  }

  it("does each item once, in whatever order, and what is new", async () => {
    const first = await run("order", range(5));
    expect(first).toMatchObject({ total: 5, done: 5, before: 0, failed: 0, worked: range(5) });
    const again = await run("order", [...range(7)].reverse());
    expect(again).toMatchObject({ total: 7, done: 7, before: 5, worked: ["item 6", "item 5"] });
    expect((await run("order", range(5), { id: "another" })).worked).toEqual(range(5));
  });

  it("does an item anew that changed", async () => {
    const amounts = new Map(range(3).map((item) => [item, 1]));
    const changed = (item: string) => amounts.get(item);
    await run("changed", range(3), { changed });
    amounts.set("item 1", 2);
    expect((await run("changed", range(3), { changed })).worked).toEqual(["item 1"]);
    expect((await run("changed", range(3), { changed })).worked).toEqual([]);
  });

  it.each([
    ["none", 2],
    ["idempotent", 4],
    // A claim and a record each: an item whose claim was taken earlier would be in doubt although it never began.
    ["once", 40],
  ] as const)("with the effects %s: 20 items in groups of 10 take %i appends", async (effects, expected) => {
    await run(`warm ${effects}`, ["item"], { effects });
    appends = 0;
    const { done } = await run(`appends ${effects}`, range(20), { effects, recordEvery: 10 });
    expect([done, appends]).toEqual([20, expected]);
    appends = 0;
    await run(`appends ${effects}`, range(20), { effects, recordEvery: 10 });
    expect(appends).toBe(0);
  });

  it.each(["none", "idempotent", "once"] as const)(
    "reports items that fail, and goes on; effects %s",
    async (effects) => {
      let fails = true;
      const work = (item: string) => {
        if (fails && item === "item 1") throw Object.assign(new Error("no address"), { certain: true });
        if (fails && item === "item 3") throw new Error("the line was cut");
      };
      const first = await run(`fail ${effects}`, range(5), { effects }, work);
      const cut = { key: "item 3", item: "item 3", error: { message: "the line was cut" } };
      const certain = { key: "item 1", error: { message: "no address" } };
      expect(first).toMatchObject({ done: 3, worked: range(5) });
      expect(first.failures).toMatchObject(effects === "once" ? [certain] : [certain, cut]);
      expect(first.ambiguities).toMatchObject(effects === "once" ? [cut] : []);
      fails = false;
      const second = await run(`fail ${effects}`, range(5), { effects }, work);
      // Of the item that may have acted nobody knows, so it isn't repeated; a reconciler settles it.
      expect(second.worked).toEqual(effects === "once" ? ["item 1"] : ["item 1", "item 3"]);
      expect(second.ambiguities.map(({ error }) => error.name)).toEqual(
        effects === "once" ? ["AmbiguousOutcomeError"] : [],
      );
      const reconcile = () => ({ happened: false }) as const;
      const third = await run(`fail ${effects}`, range(5), { effects, reconcile }, work);
      expect(third).toMatchObject({ done: 5, ambiguous: 0, worked: effects === "once" ? ["item 3"] : [] });
    },
  );

  it.each(["idempotent", "once"] as const)(
    "works on a few at a time, and tells how far it is; %s",
    async (effects) => {
      let [now, most] = [0, 0];
      let meet = (): void => undefined;
      const three = new Promise<void>((resolve) => (meet = resolve));
      const told: number[] = [];
      const work = async () => {
        most = Math.max(most, (now += 1));
        if (now === 3) meet();
        await three;
        now -= 1;
      };
      const onProgress = ({ done }: { done: number }) => void told.push(done);
      await run(`many ${effects}`, range(20), { effects, parallel: 3, recordEvery: 10, onProgress }, work);
      expect(most).toBe(3);
      expect(told).toEqual(range(20).map((_, n) => n + 1));
    },
  );

  it.each(["none", "idempotent", "once"] as const)(
    "ends at a signal, and goes on later; %s",
    async (effects) => {
      const aborting = new AbortController();
      const begun: string[] = [];
      const ended = run(`abort ${effects}`, range(20), { effects, signal: aborting.signal }, (item) => {
        begun.push(item);
        if (item === "item 7") aborting.abort(new Error("stop"));
      });
      await expect(ended).rejects.toThrow("stop");
      expect(begun).toEqual(range(8));
      const { worked, done, ambiguous } = await run(`abort ${effects}`, range(20), { effects });
      expect([done, ambiguous, worked]).toEqual([20, 0, range(20).slice(8)]);
    },
  );

  it("is a node of a graph", async () => {
    const worked: string[] = [];
    const State = Annotation.Root({ done: Annotation<number>() });
    let fails = true;
    const graph = new StateGraph(State)
      .addNode("all", async (_state, config) => {
        const { done } = await batch(journal, config, range(6), named, (item) => void worked.push(item));
        if (fails) throw new Error("the node failed after it");
        return { done };
      })
      .addEdge(START, "all")
      .addEdge("all", END)
      .compile({ checkpointer: opened.saver });
    await expect(graph.invoke({ done: 0 }, on("node"))).rejects.toThrow("the node failed");
    fails = false;
    expect(await graph.invoke(null, on("node"))).toEqual({ done: 6 });
    expect(worked).toEqual(range(6));
  });

  it("refuses two items with one key, and numbers that make no sense, before anything runs", async () => {
    const nothing = () => expect.fail("it ran");
    for (const [items, options] of [
      [["a", "b", "a"], {}],
      [["a"], { recordEvery: 0 }],
      [["a"], { parallel: 1.5 }],
      [["a"], { key: () => "" }],
      [["a"], { groups: 3 } as object],
    ] as const)
      await expect(run("refused", items, options, nothing)).rejects.toMatchObject({ code: "INVALID_OPTION" });
  });

  it
    .skipIf(name === "memory" || name === "PGlite")
    .each(inRounds({ few: ["idempotent", "once"], all: ["none", "idempotent", "once"] } as const))(
    "goes on after SIGKILL; effects %s",
    { timeout: 120_000 },
    async (effects) => {
      const file = join(folder, effects);
      writeFileSync(file, "");
      const thread = `killed ${effects}`;
      const start = (dieAt: number) => {
        const orders: BatchOrders = { place: opened.place!, thread, effects, file, dieAt };
        return runChild<BatchDone>(script, [JSON.stringify(orders)]);
      };
      const kills = inRounds({ few: 3, all: 6, soak: 12 });
      for (let n = 0; n < kills; n += 1) {
        const { signal, stderr } = await start(1 + ((n * 5) % 11)).exit;
        if (stderr === "" && signal === null) break;
        expect([signal, stderr]).toEqual(["SIGKILL", ""]);
      }
      const last = start(0);
      expect(await last.exit).toMatchObject({ code: 0, stderr: "" });
      const { done, ambiguous } = last.messages[0]!;
      const lines = readFileSync(file, "utf8").trimEnd().split("\n");
      const worked = new Set(lines.map((line) => line.slice(0, 7).trim()));
      // One that was claimed, but hadn't begun when the process was killed, is in doubt as well.
      expect(new Set([...worked, ...ambiguous]).size).toBe(total);
      const repeated = lines.length - worked.size;
      if (effects === "once") {
        // Those that were under way: two at a time.
        expect(repeated).toBe(0);
        expect(ambiguous.length).toBeLessThanOrEqual(2 * kills);
        expect(done).toBe(total - ambiguous.length);
        expect(ambiguous.length).toBeGreaterThan(0);
      } else {
        expect([done, ambiguous]).toEqual([total, []]);
        expect(repeated).toBeGreaterThan(0);
        expect(repeated).toBeLessThanOrEqual(every * kills);
        // With the same key each time.
        if (effects === "idempotent") expect(new Set(lines).size).toBe(total);
      }
    },
  );
});
