// long file: every race of a sync, each with its servers and caches
import { MemorySaver } from "@stratigraph/core";
import { keepsWorkspaces } from "@stratigraph/core/internal";
import type { ItemKeeper, WorkspaceStorage } from "@stratigraph/core/tier";
import { createWorkspace, type Workspace } from "@stratigraph/workspace";
import { syncMemory, type MemoryClient, type SyncMemoryOptions } from "@stratigraph/workspace/mcp";
import { expect, test } from "vitest";
import { inRounds } from "../../../../../test/rounds.ts";
import { memoryClient } from "./support/memoryClient.ts";

const ns = ["shared", "facts"];
const everyStep = inRounds({ few: 4, all: 1, soak: 1 });

/** A server's workspace, and caches of it by agents. */
async function shared(...agents: string[]) {
  const saver = new MemorySaver();
  const server = createWorkspace(saver, "team", { agent: "host" });
  const caches = await Promise.all(agents.map(async (agent) => await cacheOf(server, agent)));
  return { saver, server, caches };
}

async function cacheOf(server: Workspace, agent: string) {
  const saver = new MemorySaver();
  const cache = createWorkspace(saver, "cache", { agent });
  const { client } = await memoryClient(server, agent);
  const sync = async (options?: SyncMemoryOptions) => await syncMemory(cache, client, options);
  return { saver, cache, client, sync };
}

/** All items as `key: value`. */
async function itemsOf(workspace: Workspace): Promise<Record<string, unknown>> {
  const items = await workspace.search([], { limit: 1000 });
  return Object.fromEntries(items.map(({ key, value }) => [key, value["n"]]));
}

const put = async (at: Workspace, key: string, n: unknown) => void (await at.put(ns, key, { n }));

function storageOf({ tier }: MemorySaver): WorkspaceStorage {
  if (!keepsWorkspaces(tier)) throw new Error("no workspaces");
  return tier.workspaces;
}

test("two caches and a server come in step; a conflict stays until it is decided", async () => {
  const {
    server,
    caches: [ada, bob],
  } = await shared("ada", "bob");
  await put(server, "host", 1);
  await put(ada!.cache, "ada", 1);
  await ada!.cache.put(["agents", "ada"], "own", { n: 1 }, { reason: "mine" });
  expect(await ada!.sync()).toEqual({ pulled: 1, pushed: 2, conflicts: [], failed: [] });
  expect(await bob!.sync()).toMatchObject({ pulled: 3, pushed: 0 });
  for (const at of [server, ada!.cache, bob!.cache])
    expect(await itemsOf(at)).toEqual({ host: 1, ada: 1, own: 1 });
  expect(await bob!.cache.get(["agents", "ada"], "own")).toMatchObject({
    author: { agent: "ada" },
    reason: "mine",
  });
  // In step, nothing is written any more, here or there.
  const versions = async () => await Promise.all([server, ada!.cache, bob!.cache].map((at) => at.version()));
  const before = await versions();
  expect([await ada!.sync(), await bob!.sync()]).toMatchObject([
    { pulled: 0, pushed: 0 },
    { pulled: 0, pushed: 0 },
  ]);
  expect(await versions()).toEqual(before);
  // Both change one item; one deletes what the other changes, and the other way round.
  await put(ada!.cache, "host", "a");
  await ada!.cache.delete(ns, "ada");
  await put(bob!.cache, "host", "b");
  await put(bob!.cache, "ada", "b");
  expect(await ada!.sync()).toMatchObject({ pushed: 2, conflicts: [] });
  const conflicts = [
    {
      namespace: ns,
      key: "host",
      base: { n: 1 },
      ours: { n: "b" },
      theirs: { n: "a" },
      author: { agent: "ada" },
    },
    { namespace: ns, key: "ada", base: { n: 1 }, ours: { n: "b" }, theirs: null, author: { agent: "ada" } },
  ];
  const byKey = expect.arrayContaining(conflicts) as unknown;
  for (let n = 0; n < 2; n += 1)
    expect(await bob!.sync()).toEqual({ pulled: 0, pushed: 0, conflicts: byKey, failed: [] });
  expect(await itemsOf(bob!.cache)).toEqual({ host: "b", ada: "b", own: 1 });
  expect(await itemsOf(server)).toEqual({ host: "a", own: 1 });
  const resolve: SyncMemoryOptions["resolve"] = ({ key, ours, theirs }) =>
    key === "ada" ? null : { n: `${String(theirs?.["n"])}${String(ours?.["n"])}` };
  expect(await bob!.sync({ resolve })).toMatchObject({ pushed: 1, conflicts: [] });
  await ada!.sync();
  for (const at of [server, ada!.cache, bob!.cache])
    expect(await itemsOf(at)).toEqual({ host: "ab", own: 1 });
  // "ours" and "theirs" decide for all.
  await put(ada!.cache, "host", "a2");
  await put(bob!.cache, "host", "b2");
  await bob!.sync();
  expect(await ada!.sync({ resolve: "ours" })).toMatchObject({ pushed: 1, conflicts: [] });
  await put(bob!.cache, "host", "b3");
  expect(await bob!.sync({ resolve: "theirs" })).toMatchObject({ pushed: 0, conflicts: [] });
  for (const at of [server, bob!.cache]) expect(await itemsOf(at)).toEqual({ host: "a2", own: 1 });
});

test("both write while the other sends: only the server's item as it was based on is replaced", async () => {
  const {
    server,
    caches: [ada],
  } = await shared("ada");
  await put(server, "k", 1);
  await ada!.sync();
  await put(ada!.cache, "k", "ada");
  // After the pull, before the change of ada's comes there, another one is made.
  const late: MemoryClient = {
    callTool: async (call) => {
      if (call.name === "memory_put") await put(server, "k", "other");
      return await ada!.client.callTool(call);
    },
  };
  expect(await syncMemory(ada!.cache, late)).toMatchObject({
    pushed: 0,
    conflicts: [{ base: { n: 1 }, ours: { n: "ada" }, theirs: { n: "other" } }],
  });
  expect(await itemsOf(server)).toEqual({ k: "other" });
  // What is changed here while it is being decided is decided about anew.
  const storage = storageOf(ada!.saver);
  const commit = storage.commit.bind(storage);
  const log = storage.log.bind(storage);
  const tier = {
    name: "memory",
    items: (ada!.saver.tier as unknown as ItemKeeper).items,
    workspaces: { commit, log },
  };
  const elsewhere = createWorkspace({ tier, itemCoder: ada!.saver.itemCoder } as never, "cache");
  const decided: unknown[] = [];
  storage.commit = async (...args) => {
    if (decided.length === 1) await put(elsewhere, "k", "ada 2");
    return await commit(...args);
  };
  const resolve: SyncMemoryOptions["resolve"] = ({ ours }) => {
    decided.push(ours?.["n"]);
    return ours;
  };
  expect(await ada!.sync({ resolve })).toMatchObject({ conflicts: [], pushed: 1 });
  expect(decided).toEqual(["ada", "ada 2"]);
  expect(await itemsOf(server)).toEqual({ k: "ada 2" });
});

/** A process that is killed at a step: a call of the server or a commit of the cache, before it is made or before its answer is there. */
async function killedAt(
  { saver, cache, client }: Awaited<ReturnType<typeof cacheOf>>,
  step: number,
  early: boolean,
): Promise<boolean> {
  const storage = storageOf(saver);
  const commit = storage.commit.bind(storage);
  let [steps, isDead] = [0, false];
  const stepped = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isDead) throw new Error("killed");
    steps += 1;
    if (steps < step) return await work();
    isDead = true;
    if (!early) await work();
    throw new Error("killed");
  };
  storage.commit = async (...args) => await stepped(async () => await commit(...args));
  try {
    await syncMemory(cache, {
      callTool: async (call) => await stepped(async () => await client.callTool(call)),
    });
    return false;
  } catch {
    return true;
  } finally {
    storage.commit = commit;
  }
}

test.each([true, false])(
  "killed at each step (before it is made: %s), nothing is lost or made twice",
  async (early) => {
    for (let step = early ? 1 : 2, killed = true; killed; step += everyStep) {
      const {
        server,
        caches: [ada, bob],
      } = await shared("ada", "bob");
      for (const key of ["both", "here", "there", "gone here", "gone there"]) await put(server, key, 1);
      await ada!.sync();
      await put(server, "there", 2);
      await put(server, "both", "theirs");
      await server.delete(ns, "gone there");
      await put(ada!.cache, "new", 1);
      await put(ada!.cache, "here", 2);
      await put(ada!.cache, "both", "ours");
      await ada!.cache.delete(ns, "gone here");
      const since = await server.version();
      killed = await killedAt(ada!, step, early);
      // Both sides go on meanwhile, on what the killed one may have sent.
      await put(ada!.cache, "here", 3);
      await bob!.sync();
      if ((await bob!.cache.get(ns, "new")) !== null) await put(bob!.cache, "new", 2);
      await bob!.sync();
      const { conflicts, failed } = await ada!.sync();
      expect({ step, conflicts, failed }).toMatchObject({
        step,
        conflicts: [{ key: "both", base: { n: 1 }, ours: { n: "ours" }, theirs: { n: "theirs" } }],
        failed: [],
      });
      await bob!.sync();
      const isThere = (await itemsOf(server))["new"];
      const all = { here: 3, there: 2, new: isThere };
      expect({ step, ...(await itemsOf(server)) }).toEqual({ step, ...all, both: "theirs" });
      expect({ step, ...(await itemsOf(ada!.cache)) }).toEqual({ step, ...all, both: "ours" });
      const made: string[] = [];
      for await (const event of server.log({ since }))
        if ("key" in event && event.author.agent === "ada")
          made.push(`${event.key} ${"value" in event ? String(event.value["n"]) : "-"}`);
      expect(made.toSorted()).toEqual([...new Set(made)].toSorted());
      expect(made).toEqual(expect.arrayContaining(["gone here -", "here 3", "new 1"]));
    }
  },
);

test("a trim between two syncs: deletions are learnt from what is there, and nothing of the cache is lost", async () => {
  const {
    server,
    caches: [ada],
  } = await shared("ada");
  for (const key of ["gone", "kept", "both"]) await put(server, key, 1);
  await ada!.sync();
  await server.delete(ns, "gone");
  await put(server, "new", 1);
  await server.delete(ns, "both");
  await put(ada!.cache, "both", 2);
  await put(ada!.cache, "offline", 1);
  await server.trim((await server.version()) + 1, { keep: "0ms" });
  await ada!.cache.trim((await ada!.cache.version()) + 1, { keep: "0ms" });
  expect(await ada!.sync()).toMatchObject({
    conflicts: [{ key: "both", ours: { n: 2 }, theirs: null }],
    failed: [],
  });
  expect(await itemsOf(server)).toEqual({ kept: 1, new: 1, offline: 1 });
  expect(await itemsOf(ada!.cache)).toEqual({ kept: 1, new: 1, offline: 1, both: 2 });
  // A deletion of the cache whose entry was trimmed is sent, too.
  await ada!.cache.delete(ns, "kept");
  await put(ada!.cache, "last", 1);
  await ada!.cache.trim((await ada!.cache.version()) + 1, { keep: "0ms" });
  await ada!.sync({ resolve: "ours" });
  expect(await itemsOf(server)).toEqual({ new: 1, offline: 1, both: 2, last: 1 });
});

test("a log that is trimmed while the first sync reads it is read anew", async () => {
  const {
    server,
    caches: [ada],
  } = await shared("ada");
  for (let n = 0; n < 102; n += 1) await put(server, `k${n}`, n);
  let calls = 0;
  const trimmed: MemoryClient = {
    callTool: async (call) => {
      calls += 1;
      if (calls === 2) {
        await server.delete(ns, "k0");
        await server.trim((await server.version()) + 1, { keep: "0ms" });
      }
      return await ada!.client.callTool(call);
    },
  };
  await syncMemory(ada!.cache, trimmed);
  expect(Object.keys(await itemsOf(ada!.cache))).toHaveLength(101);
  expect(await itemsOf(ada!.cache)).toEqual(await itemsOf(server));
});

test.each([
  [1, 0],
  [30, 0],
  // A promoted server skips versions.
  [1, 32],
])(
  "a server that was restored from a backup, and wrote %i more, %i versions skipped: what it lost is to be decided",
  async (count, skipped) => {
    const { server, caches } = await shared("ada");
    const ada = caches[0]!;
    await put(server, "kept", 1);
    await put(server, "changed", 1);
    // The backup: a storage that only has this.
    const backup = new MemorySaver();
    const restored = createWorkspace(backup, "team");
    await put(restored, "kept", 1);
    await put(restored, "changed", 1);
    await put(server, "lost", 1);
    for (let n = 0; n < 5; n += 1) await put(server, "kept", 1);
    await put(server, "changed", 2);
    await ada.sync();
    await put(ada.cache, "offline", 1);
    // Times of commits, by which the cache knows it, are at least a millisecond apart.
    const synced = Date.now();
    while (Date.now() === synced) await Promise.resolve();
    for (let n = 0; n < skipped; n += 1) await put(createWorkspace(backup, "others"), "skipped", n);
    for (let n = 0; n < count; n += 1) await put(restored, "new", n);
    const { client } = await memoryClient(restored, "ada");
    for (let n = 0; n < 2; n += 1)
      expect(await syncMemory(ada.cache, client)).toMatchObject({
        conflicts: expect.arrayContaining([
          expect.objectContaining({ key: "changed", ours: { n: 2 }, theirs: { n: 1 } }),
          expect.objectContaining({ key: "lost", ours: { n: 1 }, theirs: null }),
        ]) as unknown,
      });
    expect(await itemsOf(ada.cache)).toEqual({ kept: 1, changed: 2, lost: 1, offline: 1, new: count - 1 });
    await put(restored, "changed", 3);
    await syncMemory(ada.cache, client, {
      resolve: ({ key, ours, theirs }) => (key === "lost" ? ours : theirs),
    });
    const all = { kept: 1, changed: 3, lost: 1, offline: 1, new: count - 1 };
    expect(await itemsOf(ada.cache)).toEqual(all);
    expect(await itemsOf(restored)).toEqual(all);
  },
);

test("what one side doesn't take is told, and the rest goes on; a server that is away is told", async () => {
  const { server, caches } = await shared("ada");
  const ada = caches[0]!;
  await server.put(ns, "huge", { text: "x".repeat(4_100_000) });
  await put(server, "small", 1);
  await ada.cache.put(["agents", "bob"], "not mine", { n: 1 });
  await ada.cache.put(ns, "long", { text: "x".repeat(1_100_000) });
  await put(ada.cache, "mine", 1);
  const failed = expect.arrayContaining([
    expect.objectContaining({ key: "not mine", error: expect.objectContaining({ code: "ACCESS_DENIED" }) }),
    expect.objectContaining({ key: "long", error: expect.objectContaining({ code: "INVALID_OPTION" }) }),
    expect.objectContaining({ key: "huge", error: expect.objectContaining({ code: "STORAGE_FULL" }) }),
  ]) as unknown;
  for (let n = 0; n < 2; n += 1) expect(await ada.sync()).toMatchObject({ failed, conflicts: [] });
  expect(await server.get(ns, "mine")).toMatchObject({ value: { n: 1 } });
  expect(await ada.cache.get(ns, "small")).toMatchObject({ value: { n: 1 } });
  await server.put(ns, "huge", { n: "short" });
  await ada.sync();
  expect(await ada.cache.get(ns, "huge")).toMatchObject({ value: { n: "short" } });
  const away: MemoryClient = { callTool: () => Promise.reject(new Error("no connection")) };
  await expect(syncMemory(ada.cache, away)).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  const evil = { kind: "put", namespace: ["", "sync"], key: "place", version: 1, value: {} };
  for (const [answer, code] of [
    [{ structuredContent: {} }, "UNAVAILABLE"],
    [{ content: [{ type: "text", text: "hello" }] }, "UNAVAILABLE"],
    [{ isError: true, content: [] }, "UNAVAILABLE"],
    [{ structuredContent: { changes: [evil], cursor: "c" } }, "INVALID_ADDRESS"],
    [{ structuredContent: { changes: [{ ...evil, namespace: ns, value: [] }], cursor: "c" } }, "UNAVAILABLE"],
  ] as const) {
    const stranger: MemoryClient = { callTool: () => Promise.resolve(answer) };
    await expect(syncMemory(ada.cache, stranger)).rejects.toMatchObject({ code });
  }
  const role = ada.cache.as("reader", { read: [[]] });
  await expect(syncMemory(role, ada.client)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  await expect(syncMemory({} as never, ada.client)).rejects.toThrow("cache");
  for (const [client, options, told] of [
    [{}, {}, "client"],
    [ada.client, { resolve: "mine" }, "resolve"],
    [ada.client, { other: 1 }, "other"],
  ] as const)
    await expect(syncMemory(ada.cache, client as never, options as never)).rejects.toThrow(told);
});
