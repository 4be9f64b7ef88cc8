// long file: the stories of a lost head, on the same storages
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, Command, DeltaChannel, START, StateGraph, interrupt } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver, type Tier } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import { folder } from "@stratigraph/s3";
import { TierStack } from "@stratigraph/tiered";
import pg from "pg";
import { runOperation } from "../../../src/operations/index.ts";
import { testContext } from "../support/testContext.ts";
import { damageable, type Damager } from "./damagers.ts";
import { agent, line, on, operationNamed, repaired, storages, turns, verified } from "./support.ts";

// Somebody loses the entry that names the newest checkpoint of a thread. The thread isn't empty then, and nothing begins it anew.

interface Place {
  open(): Tier;
  loseHead(threadId: string): Promise<void>;
  /** All that is stored. Undefined where that can't be told. */
  digest?(): Promise<string>;
  close(): Promise<void>;
}

async function onServer(name: "postgres" | "redis", wrapped = (tier: Tier): Tier => tier): Promise<Place> {
  const { storage, damage }: { storage: { open(): Tier; close(): Promise<void> }; damage: Damager } =
    await damageable[name]();
  return {
    open: () => wrapped(storage.open()),
    loseHead: (threadId) => damage.setHead(threadId, undefined),
    digest: () => damage.digest(),
    close: async () => (await damage.close(), storage.close()),
  };
}

const places: Record<string, () => Promise<Place>> = {
  memory: async () => {
    const { open, close } = await storages.memory();
    const tier = open();
    return {
      open,
      close,
      loseHead: async (threadId) => {
        // Another namespace still has its head.
        const heads = [{ namespace: reservedNamespaces.thread, to: "1", expected: "any" as const }];
        const { revision } = await tier.append({
          threadId,
          records: [],
          blobs: [],
          heads,
          onConflict: "refuse",
        });
        const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
        expect(await tier.remove({ threadId, revision, ...nothing, heads: [{ namespace: "" }] })).toBe(true);
      },
    };
  },
  postgres: () => onServer("postgres"),
  redis: () => onServer("redis"),
  "memory over PostgreSQL": async () => {
    const hot = new MemoryTier();
    return await onServer("postgres", (warm) => new TierStack({ hot: [hot], warm }));
  },
};

const lost = (threadId: string) => ({
  code: "CORRUPT",
  data: { threadId, namespace: "" },
  message: expect.stringMatching(new RegExp(`"${threadId}".*verify.*repair`)),
});

describe.each(Object.entries(places))("in %s", (name, openPlace) => {
  let place: Place;
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place.close());
  const saver = (): TierSaver => new TierSaver(place.open());
  const idsOf = async (threadId: string): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { checkpoint } of saver().list(on(threadId))) ids.push(checkpoint.id);
    return ids;
  };

  test("reads, turns and pruning are refused, nothing is changed, and repair sets the head again", async () => {
    await turns(saver(), "ada", 3);
    const before = (await agent(saver()).getState(on("ada"))).values;
    const ids = await idsOf("ada");
    await place.loseHead("ada");
    const stored = await place.digest?.();
    await expect(saver().getTuple(on("ada"))).rejects.toMatchObject(lost("ada"));
    await expect(agent(saver()).getState(on("ada"))).rejects.toMatchObject(lost("ada"));
    await expect(turns(saver(), "ada", 1)).rejects.toMatchObject(lost("ada"));
    await expect(agent(saver()).updateState(on("ada"), { note: "x" })).rejects.toMatchObject(lost("ada"));
    await expect(saver().prune(["ada"], { strategy: "keep_latest" })).rejects.toMatchObject(lost("ada"));
    const context = testContext(saver());
    for (const name of ["history", "show"])
      await expect(
        runOperation(operationNamed(name), { [name === "show" ? "at" : "thread"]: "ada" }, context),
      ).rejects.toMatchObject(lost("ada"));
    const { items } = (await runOperation(operationNamed("threads"), {}, context)) as { items: object[] };
    expect(items).toMatchObject([{ thread: "ada", headless: true, evicted: false }]);
    // A writer that never read it.
    const other = new TierSaver(new MemoryTier());
    await turns(other, "ada", 1);
    const { checkpoint, metadata } = (await other.getTuple(on("ada")))!;
    await expect(saver().put(on("ada"), checkpoint, metadata!, {})).rejects.toMatchObject(lost("ada"));
    expect(await place.digest?.()).toBe(stored);
    expect(await idsOf("ada")).toEqual(ids);
    // A checkpoint that is named can be looked at.
    const oldest = { configurable: { thread_id: "ada", checkpoint_id: ids.at(-1)! } };
    expect((await saver().getTuple(oldest))?.checkpoint.id).toBe(ids.at(-1));

    const report = await verified(place.open(), { threads: ["ada"] });
    expect(report.findings).toMatchObject([
      { kind: "wrong-head", severity: "error", thread: "ada", target: ids[0] },
    ]);
    const { results, left } = await repaired(place.open(), report);
    expect(results).toMatchObject([{ outcome: "done" }]);
    expect(left).toEqual([]);
    expect((await agent(saver()).getState(on("ada"))).values).toEqual(before);
    await turns(saver(), "ada", 1);
    expect(await idsOf("ada")).toHaveLength(ids.length + 4);
  });

  test("an answer isn't lost on an empty thread", async () => {
    await agent(saver()).invoke({ log: [line("a question")], note: "ask" }, on("bob"));
    await place.loseHead("bob");
    await expect(agent(saver()).invoke(new Command({ resume: "yes" }), on("bob"))).rejects.toMatchObject(
      lost("bob"),
    );
    await repaired(place.open(), await verified(place.open(), { threads: ["bob"] }));
    const { log } = await agent(saver()).invoke(new Command({ resume: "yes" }), on("bob"));
    expect(log.map((each: string) => each.split(" ")[0])).toEqual(["a", "thought", "act"]);
  });

  // Memory looks at the root alone: it loses nothing by itself.
  test.skipIf(name === "memory")("a subgraph that waits doesn't begin anew, and others do", async () => {
    let began = 0;
    const State = Annotation.Root({ text: Annotation<string>() });
    const inner = (checkpointer?: true) =>
      new StateGraph(State)
        .addNode("begin", () => {
          began += 1;
          return {};
        })
        .addNode("ask", () => ({ text: String(interrupt("go on?")) }))
        .addEdge(START, "begin")
        .addEdge("begin", "ask")
        .compile(checkpointer === undefined ? {} : { checkpointer });
    const outer = (kept?: true) =>
      new StateGraph(State)
        .addNode("inner", inner(kept))
        .addEdge(START, "inner")
        .compile({ checkpointer: saver() });
    for (const kept of [undefined, true] as const) {
      const threadId = kept === undefined ? "sub" : "kept";
      for (const turn of [1, 2]) {
        await outer(kept).invoke({ text: "" }, on(threadId));
        if (turn === 1) await outer(kept).invoke(new Command({ resume: "yes" }), on(threadId));
      }
      expect(began).toBe(2);
      const tier = place.open();
      const { checkpoint } = (await saver().getTuple(on(threadId)))!;
      const namespaces = new Map<string, string>();
      for await (const { record } of tier.list({ threadId, recordsOnly: true }))
        if (record.namespace !== "" && record.checkpointId > checkpoint.id)
          namespaces.set(record.namespace, record.checkpointId);
      expect(namespaces.size).toBe(1);
      const [namespace] = [...namespaces.keys()];
      const { revision } = await tier.peek({ threadId, namespace: "" });
      const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
      await tier.remove({ threadId, revision, ...nothing, heads: [{ namespace: namespace! }] });
      const answer = (): Promise<unknown> => outer(kept).invoke(new Command({ resume: "yes" }), on(threadId));
      await expect(answer()).rejects.toMatchObject({ code: "CORRUPT", data: { threadId, namespace } });
      await repaired(tier, await verified(tier, { threads: [threadId] }));
      expect(await answer()).toMatchObject({ text: "yes" });
      expect(began).toBe(2);
      began = 0;
    }
  });

  test("a thread that is deleted, or that only pending writes came for, is begun as ever", async () => {
    await turns(saver(), "eve", 1);
    await saver().deleteThread("eve");
    await turns(saver(), "eve", 1);
    const early = { configurable: { thread_id: "new", checkpoint_ns: "", checkpoint_id: "1" } };
    await saver().putWrites(early, [["log", ["early"]]], "task");
    await turns(saver(), "new", 1);
    expect(await idsOf("new")).toHaveLength(4);
  });

  test("an import in parts, whose heads come last, reads as nothing until then", async () => {
    await turns(saver(), "source", 1);
    const tier = place.open();
    const parts = [];
    for await (const listed of tier.list({ threadId: "source" })) parts.unshift(listed);
    for (const { record, blobs } of parts)
      await tier.append({
        threadId: "target",
        records: [{ ...record, threadId: "target" }],
        blobs: [...blobs.values()],
        heads: [],
        onConflict: "refuse",
      });
    expect(await saver().getTuple(on("target"))).toBeUndefined();
    const { checkpointId } = parts.at(-1)!.record;
    const heads = [{ namespace: "", to: checkpointId, expected: [] }];
    await tier.append({ threadId: "target", records: [], blobs: [], heads, onConflict: "refuse" });
    expect((await saver().getTuple(on("target")))?.checkpoint.id).toBe(checkpointId);
  });
});

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];

/** An agent whose list is rebuilt from what its checkpoints' tasks wrote. */
const counting = (checkpointer: TierSaver) =>
  new StateGraph(
    Annotation.Root({
      list: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 }),
      text: Annotation<string>(),
    }),
  )
    .addNode("work", () => ({ list: [line("worked")], text: line("text") }))
    .addEdge(START, "work")
    .compile({ checkpointer });

test("PostgreSQL: what a head's DeltaChannels are rebuilt from is lost; verify says that it can't be read, and rows from a backup bring it back", async () => {
  const storage = await storages.postgres();
  const pool = new pg.Pool({ connectionString: storage.url, max: 1 });
  try {
    const saver = (): TierSaver => new TierSaver(storage.open());
    const read = async (): Promise<unknown> => (await counting(saver()).getState(on("ada"))).values;
    for (let n = 0; n < 3; n += 1) await counting(saver()).invoke({ list: [line(`turn ${n}`)] }, on("ada"));
    const before = await read();
    const blobs = async (): Promise<unknown> =>
      (await pool.query("select count(*)::int as count from stratigraph.blobs")).rows[0].count;
    const kept = await blobs();
    const tables = ["checkpoints", "writes"] as const;
    for (const table of tables)
      await pool.query(`create table ${table}_backup as table stratigraph.${table}`);
    const restore = async (): Promise<void> => {
      for (const table of tables)
        await pool.query(`insert into stratigraph.${table} table ${table}_backup on conflict do nothing`);
    };
    const { rows } = await pool.query("select id from stratigraph.checkpoints order by id");
    for (const [oldest, withWrites] of [
      [1, false],
      [1, true],
      [4, true],
      [rows.length - 1, true],
    ] as const) {
      const gone = rows.slice(0, oldest).map(({ id }) => id as Buffer);
      await pool.query("delete from stratigraph.checkpoints where id = any ($1)", [gone]);
      if (withWrites) await pool.query("delete from stratigraph.writes where id = any ($1)", [gone]);
      await expect(read()).rejects.toMatchObject({ code: "CORRUPT" });
      const report = await verified(storage.open());
      expect(report.findings.filter(({ severity }) => severity === "error")).toMatchObject([
        { kind: "gap", channel: "list", meaning: expect.stringContaining("nobody can read the head") },
      ]);
      const { results } = await repaired(storage.open(), report, { apply: true, prune: true });
      expect(results).toMatchObject([
        { outcome: "impossible", action: expect.stringContaining("From a backup, restore its row") },
      ]);
      expect(await blobs()).toBe(kept);
      await restore();
      expect(await read()).toEqual(before);
      expect((await verified(storage.open())).findings).toEqual([]);
    }
    // A row of a plain channel's head, in a database without an archive.
    await pool.query("delete from stratigraph.checkpoints where id = $1", [rows.at(-1).id]);
    const error: unknown = await read().catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/nothing of the thread was archived.*verify/),
    });
    await expect(saver().prune(["ada"], { strategy: "keep_latest" })).rejects.toMatchObject({
      code: "CORRUPT",
    });
    await restore();
    expect(await read()).toEqual(before);
  } finally {
    await pool.end();
    await storage.close();
  }
});

test("a thread that an earlier version began anew over a lost head is found, and both ways out do what they say", async () => {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier);
  for (const threadId of ["ada", "bob"]) {
    await turns(saver, threadId, 2);
    const { revision } = await tier.peek({ threadId, namespace: "" });
    const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
    await tier.remove({ threadId, revision, ...nothing, heads: [{ namespace: "" }] });
    await turns(new TierSaver(tier), threadId, 1);
  }
  const report = await verified(tier);
  expect(report.findings).toMatchObject([
    { kind: "wrong-head", severity: "warning", part: "thread", thread: "ada" },
    { kind: "wrong-head", severity: "warning", part: "thread", thread: "bob" },
  ]);
  const { results } = await repaired(tier, report);
  for (const { outcome, action, finding } of results) {
    expect(outcome).toBe("impossible");
    const [, fork] = /stratigraph fork '([^']+)' NEW-ID/.exec(action)!;
    const [, promote] = /stratigraph promote '([^']+)'/.exec(action)!;
    const context = testContext(new TierSaver(tier));
    if (finding.thread === "ada")
      await runOperation(operationNamed("fork"), { at: fork, to: "ada-2" }, context);
    else await runOperation(operationNamed("promote"), { at: promote }, context);
    const { log } = (
      await agent(new TierSaver(tier)).getState(on(finding.thread === "ada" ? "ada-2" : "bob"))
    ).values;
    expect(log).toHaveLength(6);
  }
});

test("a run that loses the race for a new thread leaves no second beginning", async () => {
  const tier = new MemoryTier();
  const late = new TierSaver(tier, { conflict: "branch" });
  expect(await late.getTuple(on("ada"))).toBeUndefined();
  await turns(new TierSaver(tier), "ada", 1);
  await late.put(
    on("ada"),
    { ...emptyCheckpoint(), id: uuid6(-1) },
    { source: "input", step: -1, parents: {} },
    {},
  );
  expect(await late.conflicts("ada")).toHaveLength(1);
  expect((await verified(tier)).findings).toEqual([]);
});

test("a folder: a thread whose head object is lost isn't a new one, until it is deleted", async () => {
  const path = await mkdtemp(join(tmpdir(), "stratigraph-lost-head-"));
  try {
    const open = (): TierSaver => new TierSaver(folder({ path }));
    await agent(open()).invoke({ log: [randomBytes(600_000).toString("base64")], note: "" }, on("ada"));
    const files = await readdir(join(path, "ada"));
    expect(files.some((name) => name.endsWith(".pack"))).toBe(true);
    await rm(join(path, "ada", "head"));
    const old = new Date(Date.now() - 11 * 60_000);
    for (const name of files.filter((each) => each.endsWith(".pack")))
      await utimes(join(path, "ada", name), old, old);
    await expect(open().getTuple(on("ada"))).rejects.toMatchObject(lost("ada"));
    await expect(turns(open(), "ada", 1)).rejects.toMatchObject(lost("ada"));
    const report = await verified(folder({ path }));
    expect(report.findings).toMatchObject([{ kind: "lost-thread", thread: "ada" }]);
    await open().deleteThread("ada");
    await turns(open(), "ada", 1);
  } finally {
    await rm(path, { recursive: true });
  }
});
