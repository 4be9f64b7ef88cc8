import { allRounds } from "../../../../../../test/rounds.ts";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { fork } from "@stratigraph/branch";
import { TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { exportThreads, openTarget } from "@stratigraph/migrate";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { folder } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../../../test/servers/shared.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { on, storages, verified } from "./support.ts";

// A thread whose cache is a best-effort channel, in every storage: no part of the thread depends on the cache being there.

const looseNamespace = "__stratigraph_loose__";
const bestEffort = ["pages"];

const State = Annotation.Root({
  messages: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  pages: Annotation<Record<string, string>>({ reducer: (a, b) => ({ ...a, ...b }), default: () => ({}) }),
});

/** Answers a question from its pages, and fetches the page that it lacks. */
function reader(saver: TierSaver) {
  return new StateGraph(State)
    .addNode("fetch", ({ messages, pages }) => {
      const url = messages.at(-1)!;
      if (Object.hasOwn(pages, url)) return { messages: ["from the cache"] };
      return { messages: ["fetched"], pages: { [url]: randomBytes(9000).toString("base64") } };
    })
    .addEdge(START, "fetch")
    .compile({ checkpointer: saver });
}

async function ask(saver: TierSaver, threadId: string, url: string): Promise<string> {
  return (await reader(saver).invoke({ messages: [url] }, on(threadId))).messages.at(-1)!;
}

/** What the next process finds of a thread. */
async function pagesOf(saver: TierSaver, threadId: string): Promise<string[]> {
  return Object.keys((await reader(saver).getState(on(threadId))).values.pages);
}

/** Removes what a thread's caches hold, as eviction does. */
async function lose(tier: Tier, threadId: string): Promise<void> {
  const at = { threadId, namespace: looseNamespace };
  const checkpoints = [];
  for await (const { record } of tier.list({ ...at, recordsOnly: true }))
    checkpoints.push({ ...at, checkpointId: record.checkpointId });
  const { revision } = await tier.peek(at);
  await tier.remove({ threadId, revision, checkpoints, dropBlobs: [], replaceBlobs: [], heads: [] });
}

/** A tier that savers can end without ending it. */
function lasting(tier: Tier): Tier {
  return new Proxy(tier, {
    get(target, name) {
      if (name === "end") return async () => {};
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

interface Place {
  open(options?: SaverOptions, now?: () => number): TierSaver;
  close(): Promise<void>;
}

const alone = Object.entries(storages).map(([name, openStorage]): [string, () => Promise<Place>] => [
  name,
  async () => {
    const storage = await openStorage();
    const open = (options?: SaverOptions) => new TierSaver(lasting(storage.open()), options);
    return { open, close: () => storage.close() };
  },
]);

const stack = async (): Promise<Place> => {
  const [database, place] = await Promise.all([freshDatabase(), sharedRedis()]);
  await postgres({ url: database.url }).setup!();
  const path = await mkdtemp(join(tmpdir(), "best-effort-"));
  const open = (options?: SaverOptions, now?: () => number) =>
    new TieredSaver(
      {
        hot: redis({ ...place, ttl: "1h" }),
        warm: postgres({ url: database.url }),
        cold: folder({ path }),
        archiveAfter: "1h",
        pause: "0ms",
        ...options,
      },
      now,
    );
  const close = async () => {
    await database.drop();
    await rm(path, { recursive: true, force: true });
  };
  return { open, close };
};

// With few rounds in memory and in the stack, which has the others in it.
const places = [...alone, ["redis>postgres>folder", stack] as const];
const chosen = allRounds ? places : places.filter(([name]) => name === "memory" || name.includes(">"));

describe.each(chosen)("in %s", (name, openPlace) => {
  let place: Place;
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place.close());

  async function process<T>(
    work: (saver: TierSaver) => Promise<T>,
    options: SaverOptions = { bestEffort },
  ): Promise<T> {
    const saver = place.open(options);
    try {
      return await work(saver);
    } finally {
      await saver.end();
    }
  }

  test("the next process finds the last value, also one without the option", async () => {
    await process(async (saver) => {
      expect(await ask(saver, "next", "a")).toBe("fetched");
      expect(await ask(saver, "next", "b")).toBe("fetched");
      expect(await ask(saver, "next", "a")).toBe("from the cache");
    });
    expect(await process((saver) => ask(saver, "next", "b"))).toBe("from the cache");
    expect(await process((saver) => pagesOf(saver, "next"), {})).toEqual(["a", "b"]);
  });

  test("one value is stored, in place of the one before", async () => {
    await process(async (saver) => {
      for (const url of ["a", "b", "c"]) await ask(saver, "one", url);
    });
    await process(async ({ tier }) => {
      const sizes = [];
      for await (const { record } of tier.list({ threadId: "one", namespace: looseNamespace }))
        sizes.push(record.body.length);
      expect(sizes).toEqual([expect.any(Number)]);
      let others = 0;
      for (const { size } of await tier.blobs("one")) others += size;
      expect(others).toBe(0);
    });
  });

  test("without the value the thread goes on with the default, and is refilled", async () => {
    await process((saver) => ask(saver, "lost", "a"));
    await process(({ tier }) => lose(tier, "lost"));
    expect(await process((saver) => pagesOf(saver, "lost"))).toEqual([]);
    expect(await process((saver) => ask(saver, "lost", "a"))).toBe("fetched");
    expect(await process((saver) => ask(saver, "lost", "a"))).toBe("from the cache");
  });

  test("history: a checkpoint has its own value or the default, never another's", async () => {
    await process(async (saver) => {
      await ask(saver, "past", "a");
      await ask(saver, "past", "b");
    });
    await process(async (saver) => {
      const history = [];
      for await (const state of reader(saver).getStateHistory(on("past"))) history.push(state);
      const found = history.map(({ values, next }) => [
        values.messages.length,
        next,
        Object.keys(values.pages),
      ]);
      expect(found.slice(0, 2)).toEqual([
        [4, [], ["a", "b"]],
        [3, ["fetch"], []],
      ]);
      expect(found.at(-1)).toEqual([0, ["__start__"], []]);
      const again = await reader(saver).invoke(null, history[1]!.config);
      expect(again.messages.at(-1)).toBe("fetched");
      expect(Object.keys(again.pages)).toEqual(["b"]);
    });
  });

  test("fork, copy, export and verify of a thread with and without its value", async () => {
    for (const threadId of ["kept", "gone"]) {
      await process((saver) => ask(saver, threadId, "a"));
      if (threadId === "gone") await process(({ tier }) => lose(tier, threadId));
      await process(async (saver) => {
        await saver.copyThread(threadId, `${threadId} copy`);
        await fork(saver, threadId, { to: `${threadId} fork` });
        const target = await openTarget(`file:${join(temporaryFolder(), "out.jsonl")}`);
        const { differences } = await exportThreads(saver, target, { threadIds: [threadId] });
        expect(differences).toEqual([]);
      });
      expect(await process((saver) => pagesOf(saver, `${threadId} copy`))).toEqual(
        threadId === "kept" ? ["a"] : [],
      );
      expect(await process((saver) => ask(saver, `${threadId} fork`, "a"))).toBe("fetched");
      expect(await process(({ tier }) => verified(tier))).toMatchObject({ findings: [] });
    }
  });

  test("pruning keeps the value, the deletion of its run and of the thread takes it", async () => {
    await process(async (saver) => {
      for (const url of ["a", "b"]) await ask(saver, "pruned", url);
    });
    await process((saver) => saver.prune(["pruned"], { strategy: "keep_latest" }));
    expect(await process((saver) => pagesOf(saver, "pruned"))).toEqual(["a", "b"]);
    await process(async (saver) => {
      const config = { ...on("pruned"), metadata: { run_id: "secret" } };
      await reader(saver).invoke({ messages: ["c"] }, config);
    });
    await process((saver) => saver.deleteForRuns(["secret"]));
    await process(async ({ tier }) => {
      for await (const _ of tier.list({ threadId: "pruned", namespace: looseNamespace }))
        throw new Error("what the run fetched is left");
    });
    await process((saver) => ask(saver, "pruned", "d"));
    await process(async (saver) => {
      await saver.deleteThread("pruned");
      for await (const _ of saver.tier.list({ threadId: "pruned" })) throw new Error("something is left");
    });
  });

  test("maintenance removes the values of idle threads, and nothing else", async () => {
    await process((saver) => ask(saver, "idle", "a"));
    await process(
      async (saver) => {
        const isThere = async () =>
          (await saver.maintain({ dryRun: true })).steps.some(({ what }) => what === "evict");
        while (!(await isThere())) await turn();
        while (await isThere()) await saver.maintain();
      },
      { bestEffort, bestEffortFor: "1ms", maxThreads: 1000, pause: "0ms" },
    );
    expect(await process((saver) => pagesOf(saver, "idle"))).toEqual([]);
    expect(await process((saver) => ask(saver, "idle", "a"))).toBe("fetched");
  });

  test.runIf(name === "redis>postgres>folder")(
    "an archived thread comes back without the value",
    async () => {
      for (const threadId of ["whole", "half"]) await process((saver) => ask(saver, threadId, "a"));
      await process(({ tier }) => lose(tier, "half"));
      const later = place.open(
        { bestEffort, bestEffortFor: "30d", maxThreads: 1000 },
        () => Date.now() + 7_200_000,
      );
      const { steps } = await later.maintain();
      for (const threadId of ["whole", "half"])
        expect(steps).toContainEqual(expect.objectContaining({ what: "archive", threadId, done: true }));
      await later.end();
      expect(await process(({ tier }) => verified(tier))).toMatchObject({ findings: [] });
      for (const threadId of ["whole", "half"]) {
        await process(async ({ tier }) => {
          const archive = (tier as TieredSaver["tier"]).list({ threadId });
          for await (const { record } of archive) expect(record.namespace).not.toBe(looseNamespace);
        });
        expect(await process((saver) => ask(saver, threadId, "a"))).toBe("fetched");
        expect(await process((saver) => ask(saver, threadId, "a"))).toBe("from the cache");
      }
    },
  );

  test("encrypted", async () => {
    const encryption = {
      keys: { k1: randomBytes(32) },
      activeKey: "k1",
      hashKey: randomBytes(32),
      refusePlaintext: true,
    };
    const options: SaverOptions = { bestEffort, encryption };
    const other = await openPlace();
    const open = async <T>(work: (saver: TierSaver) => Promise<T>) => {
      const saver = other.open(options);
      await saver.setup();
      return await work(saver).finally(() => saver.end());
    };
    await open((saver) => ask(saver, "secret", "a"));
    expect(await open((saver) => ask(saver, "secret", "a"))).toBe("from the cache");
    await other.close();
  });
});
