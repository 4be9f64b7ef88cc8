// long file: each way in which a place is lost, in a short story, on every storage on which it happens
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { decodeCursor, encodeCursor } from "@stratigraph/core/internal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import {
  query,
  startPostgres,
  startReplica,
  type PostgresReplica,
  type PostgresServer,
} from "../../../../test/servers/postgres.ts";
import { waitUntil } from "../../../../test/servers/process.ts";
import { PostgresSaver } from "@stratigraph/postgres";
import { createWorkspace, type Message, type Workspace, type WorkspaceEvent } from "../src/index.ts";
import { holding, storageOf, storages, type SetBackStorage } from "./setBackStorages.ts";

// A reader has come to an entry of a log, and that entry isn't there any more.

const lost: unknown = expect.objectContaining({
  ...{ code: "VERSION_GONE", data: expect.objectContaining({ restored: true }) as unknown },
});

async function put(ws: Workspace, name: string, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) await ws.put(["a"], `${name} ${n}`, { n });
}

async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  return await work().then(
    (value) => ({ value }),
    (error: unknown) => error,
  );
}

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of list) found.push(each);
  return found;
}

const keysOf = (events: readonly WorkspaceEvent[]): string[] =>
  events.flatMap((event) => ("key" in event ? [event.key] : []));

/** What a watcher gets until there are so many changes, or what ends it before. */
async function watched(ws: Workspace, since: number | undefined, count: number): Promise<unknown> {
  const found: WorkspaceEvent[] = [];
  return await thrownBy(async () => {
    for await (const event of ws.watch({ since })) if (found.push(event) === count) break;
    return keysOf(found);
  });
}

/** Places of a reader that has seen all so far, and what becomes of each. */
async function placesOf(ws: Workspace) {
  const { cursor, version } = await endOf(ws);
  const mark = await ws.mark();
  return {
    version,
    byCursor: async (): Promise<unknown> => await thrownBy(async () => await ws.changes({ cursor })),
    byVersion: async (): Promise<unknown[]> => {
      // So that a subscriber who goes on gets something.
      await ws.topic("t").publish({});
      return [
        await thrownBy(async () => await ws.changes({ since: version })),
        await thrownBy(async () => await all(ws.log({ since: version }))),
        await thrownBy(async () => await all(ws.topic("t").replay({ since: version }))),
        await watched(ws, version, 1),
        await thrownBy(async () => await ws.topic("t").subscribe("s", { from: version }).next()),
        await thrownBy(async () => await ws.at(mark)),
        await thrownBy(async () => await ws.fork("of a lost mark", { at: mark })),
      ];
    },
  };
}

async function endOf(ws: Workspace, cursor?: string) {
  for (;;) {
    const page = await ws.changes({ cursor });
    if (!page.more) return page;
    cursor = page.cursor;
  }
}

/** A watcher that looks no more once it has seen all so far, until it is released. */
async function heldWatcher(saver: TierSaver, name: string, version: number, since = 0) {
  const { held, release } = holding(saver, name, version, 1);
  const ended = thrownBy(async () => {
    // What is new ends it if nothing else does.
    for await (const event of createWorkspace(saver, name).watch({ since }))
      if (keysOf([event])[0]?.startsWith("new") === true) return keysOf([event]);
    return undefined;
  });
  await held;
  return async (): Promise<unknown> => {
    release();
    return await ended;
  };
}

let workspaces = 0;
const newName = (): string => `w${(workspaces += 1)}`;

/** Workspaces that are deleted or trimmed, in storages that lose nothing. */
const keeping: readonly (readonly [string, () => Promise<Pick<SetBackStorage, "open">>])[] = [
  [
    "memory",
    async () => {
      const tier = new MemoryTier();
      return { open: () => new TierSaver(tier) };
    },
  ],
  ...storages,
];

describe.each(keeping)("on %s", (_, opening) => {
  let storage: Pick<SetBackStorage, "open">;
  beforeAll(async () => {
    storage = await opening();
  });

  test.each([1, 9])("a workspace that is deleted and begun anew with %i changes", async (count) => {
    const [name, reader, writer] = [newName(), storage.open(), storage.open()];
    const ws = createWorkspace(writer, name);
    await put(ws, "old", 3);
    const { version, byCursor, byVersion } = await placesOf(ws);
    const watcher = await heldWatcher(reader, name, version, version);
    expect(await storageOf(writer).delete(name, version)).toBe(true);
    await put(ws, "new", count);
    expect(await ws.version()).toBeGreaterThan(version);
    expect(await watcher()).toEqual(lost);
    expect(await byCursor()).toEqual(lost);
    expect(await byVersion()).toEqual(Array.from({ length: 7 }, () => lost));
    expect(keysOf((await endOf(ws)).changes)).toHaveLength(count);
  });

  test("a message of a workspace that is deleted and begun anew can't be acknowledged, and the new ones come", async () => {
    const [name, saver] = [newName(), storage.open()];
    const ws = createWorkspace(saver, name);
    const topic = ws.topic("t");
    for (let n = 1; n <= 3; n += 1) await topic.publish({ n: `old ${n}` });
    const reading = topic.subscribe("s");
    const given = [await reading.next(), await reading.next()].map(({ value }) => value as Message);
    await given[0]!.ack();
    expect(await storageOf(saver).delete(name, await ws.version())).toBe(true);
    const acknowledge = async (): Promise<unknown> => await thrownBy(async () => await given[1]!.ack());
    expect(await acknowledge()).toEqual(lost);
    for (let n = 1; n <= 3; n += 1) await topic.publish({ n: `new ${n}` });
    expect(await acknowledge()).toEqual(lost);
    await reading.return(undefined);
    expect((await topic.subscribe("s").next()).value).toMatchObject({ body: { n: "new 1" } });
  });

  test("an empty workspace: who was there before the first change gets all", async () => {
    const [name, saver] = [newName(), storage.open()];
    const ws = createWorkspace(saver, name);
    const { cursor, version } = await ws.changes();
    expect(version).toBe(0);
    const watching = [watched(ws, undefined, 2), watched(ws, 0, 2)];
    // A lock is no change: there still is none.
    await ws.lock("l", {}, async () => undefined);
    const locked = await ws.changes({ cursor });
    expect(locked).toMatchObject({ version: 0, changes: [] });
    expect((await ws.topic("t").subscribe("s", { signal: AbortSignal.abort() }).next()).done).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    await put(ws, "new", 2);
    for (const each of [cursor, locked.cursor])
      expect(keysOf((await ws.changes({ cursor: each })).changes)).toEqual(["new 1", "new 2"]);
    expect(await watching[1]).toEqual({ value: ["new 1", "new 2"] });
    await put(ws, "more", 2);
    expect(await watching[0]).toHaveProperty("value");
  });

  test("who asks for what came after a version that is trimmed, or never was, is told; who goes on at a message gets the rest", async () => {
    const ws = createWorkspace(storage.open(), newName());
    const [topic, versions] = [ws.topic("t"), [] as number[]];
    for (let n = 0; n < 6; n += 1) versions.push(await topic.publish({ n }));
    const since = async (version: number): Promise<unknown[]> => [
      await thrownBy(async () => await all(ws.log({ since: version }))),
      await thrownBy(async () => (await all(topic.replay({ since: version }))).map(({ body }) => body["n"])),
    ];
    expect((await since(versions[3]!))[1]).toEqual({ value: [4, 5] });
    expect(await since(versions[5]! + 1000)).toEqual([lost, lost]);
    await ws.trim(versions[4]!, { keep: "0ms" });
    const gone: unknown = expect.objectContaining({ code: "VERSION_GONE" });
    expect(await since(versions[0]!)).toEqual([gone, gone]);
    expect((await all(topic.replay())).map(({ body }) => body["n"])).toEqual([4, 5]);
  });

  test("a log that is trimmed up to a reader's place, whose entry goes: it goes on, and so does who has no more than the version", async () => {
    const [name, reader, writer] = [newName(), storage.open(), storage.open()];
    const ws = createWorkspace(writer, name);
    await put(ws, "old", 3);
    await ws.topic("t").publish({ n: 1 });
    const { version, cursor } = await endOf(ws);
    const { held, release } = holding(reader, name, version, 1);
    const watching = watched(createWorkspace(reader, name), version, 2);
    await held;
    await ws.trim(version + 1, { keep: "0ms" });
    const trimmed = await ws.changes();
    await put(ws, "new", 1);
    release();
    await ws.put(["a"], "new 2", {});
    expect(await watching).toEqual({ value: ["new 1", "new 2"] });
    for (const query of [{ cursor }, { since: version }, { cursor: trimmed.cursor }])
      expect(keysOf((await ws.changes(query)).changes)).toEqual(["new 1", "new 2"]);
    expect(await thrownBy(async () => await ws.at({ name, version }))).toHaveProperty("value");
  });

  test("a role that sees a part of the changes has places at changes that it doesn't see", async () => {
    const ws = createWorkspace(storage.open(), newName());
    const role = ws.as("reader", { read: [["a"]] });
    for (let n = 0; n < 6; n += 1) {
      await ws.put(["hidden"], `${n}`, {});
      await ws.put(["a"], `${n}`, { text: "x".repeat(100) });
    }
    await ws.put(["hidden"], "last", {});
    const found: string[] = [];
    const versions: number[] = [];
    // Pages that are cut in the middle, in which each version is one that can be named again.
    let cursor: string | undefined;
    for (let more = true; more;) {
      const page = await role.changes({ cursor, maxBytes: 250, limit: 4 });
      found.push(...keysOf(page.changes));
      versions.push(page.version);
      [cursor, more] = [page.cursor, page.more];
    }
    expect(found).toEqual(["0", "1", "2", "3", "4", "5"]);
    for (const since of versions) await role.changes({ since });
    expect(versions.length).toBeGreaterThan(2);
  });

  test("a cursor of the version before is read, though a page was cut before the entry after it", async () => {
    const [name, saver] = [newName(), storage.open()];
    const ws = createWorkspace(saver, name);
    await put(ws, "old", 2);
    // Another workspace takes a version between.
    await createWorkspace(saver, newName()).put(["a"], "k", {});
    await put(ws, "old", 1);
    const { cursor, version } = await endOf(ws);
    const { atMs, trimmed } = decodeCursor(
      cursor,
      (_each: unknown): _each is Record<string, number> => true,
      "",
    );
    const older = (at: number): string => encodeCursor({ version: at, atMs, trimmed });
    await put(ws, "new", 1);
    expect(keysOf((await ws.changes({ cursor: older(version) })).changes)).toEqual(["new 1"]);
    const cut = await ws.changes({ cursor: older(version - 1) });
    expect(keysOf(cut.changes)).toEqual(["old 1", "new 1"]);
    // What it is told is a place of today.
    await storageOf(saver).delete(name, cut.version);
    await put(ws, "anew", 1);
    for (const each of [cut.cursor, older(version)])
      expect(await thrownBy(async () => await ws.changes({ cursor: each }))).toEqual(lost);
  });
});

describe.each(storages)("on %s", (kind, opening) => {
  let storage: SetBackStorage;
  beforeAll(async () => {
    storage = await opening();
  });

  test.runIf(kind === "PostgreSQL").each([1, 40])(
    "a failover after which versions jump, and %i changes since: nobody goes on with what was lost",
    async (count) => {
      const [name, reader] = [newName(), storage.open()];
      const ws = createWorkspace(storage.open(), name);
      await put(ws, "kept", 5);
      const mark = await storage.mark();
      await put(ws, "lost", 3);
      const { version, byCursor, byVersion } = await placesOf(ws);
      const watcher = await heldWatcher(reader, name, version);
      await storage.setBack(mark);
      await storage.jump!();
      await put(ws, "new", count);
      expect(await ws.version()).toBeGreaterThan(version + 20);
      expect(await watcher()).toEqual(lost);
      expect(await byCursor()).toEqual(lost);
      expect(await byVersion()).toEqual(Array.from({ length: 7 }, () => lost));
    },
  );

  test("a backup is restored, and then as much is written as was lost: versions are given again", async () => {
    const [name, reader] = [newName(), storage.open()];
    const ws = createWorkspace(storage.open(), name);
    await put(ws, "kept", 5);
    const kept = await ws.version();
    const mark = await storage.mark();
    await put(ws, "lost", 3);
    const { version, byCursor } = await placesOf(ws);
    const watcher = await heldWatcher(reader, name, version);
    await storage.setBack(mark);
    await put(ws, "new", 3);
    await storage.clockBehind?.(kept + 1);
    expect(await ws.version()).toBe(version);
    expect(await watcher()).toEqual(lost);
    expect(await byCursor()).toEqual(lost);
  });

  test("all of a workspace is lost, and its writers go on", async () => {
    const [name, reader] = [newName(), storage.open()];
    const mark = await storage.mark();
    const ws = createWorkspace(storage.open(), name);
    await put(ws, "lost", 3);
    const { version, byCursor, byVersion } = await placesOf(ws);
    const watcher = await heldWatcher(reader, name, version);
    await storage.setBack(mark);
    await storage.jump?.();
    await put(ws, "new", 2);
    expect(await watcher()).toEqual(lost);
    expect(await byCursor()).toEqual(lost);
    expect(await byVersion()).toEqual(Array.from({ length: 7 }, () => lost));
  });

  test("of two readers, who had read only what is still there goes on, also in the middle of pages", async () => {
    const [name, saver] = [newName(), storage.open()];
    const ws = createWorkspace(saver, name);
    await put(ws, "kept", 4);
    const mark = await storage.mark();
    await put(ws, "lost", 6);
    const cursors: string[] = [];
    for (let more = true; more;) {
      const page = await ws.changes({ cursor: cursors.at(-1), limit: 2 });
      cursors.push(page.cursor);
      more = page.more;
    }
    await storage.setBack(mark);
    await storage.jump?.();
    await put(ws, "new", 6);
    const ends = await Promise.all(
      cursors.map(
        async (cursor) => await thrownBy(async () => keysOf((await ws.changes({ cursor })).changes)),
      ),
    );
    const news = Array.from({ length: 6 }, (_, n) => `new ${n + 1}`);
    expect(ends).toEqual([
      { value: ["kept 3", "kept 4", ...news] },
      { value: news },
      ...Array.from({ length: cursors.length - 2 }, () => lost),
    ]);
    expect(cursors.length).toBeGreaterThan(4);
  });

  test("what comes back of a trimmed log isn't what was trimmed", async () => {
    const ws = createWorkspace(storage.open(), newName());
    await put(ws, "kept", 2);
    const mark = await storage.mark();
    await put(ws, "lost", 2);
    await ws.topic("t").publish({});
    await ws.trim((await ws.version()) + 1, { keep: "0ms" });
    const { cursor, byCursor } = { ...(await endOf(ws)), ...(await placesOf(ws)) };
    expect(await byCursor()).toHaveProperty("value");
    await storage.setBack(mark);
    await storage.jump?.();
    await put(ws, "new", 6);
    expect(await thrownBy(async () => await ws.changes({ cursor }))).toEqual(lost);
  });

  test("a subscriber that acknowledges a lost message late is told, and nothing is noted; that of one that is kept is", async () => {
    const ws = createWorkspace(storage.open(), newName());
    const topic = ws.topic("t");
    await topic.publish({ n: "kept" });
    const mark = await storage.mark();
    for (const n of ["lost 1", "lost 2"]) await topic.publish({ n });
    const reading = topic.subscribe("s");
    const given = [await reading.next(), await reading.next(), await reading.next()];
    const acknowledge = async (nth: number): Promise<unknown> =>
      await thrownBy(async () => await (given[nth]!.value as Message).ack());
    await storage.setBack(mark);
    expect(await acknowledge(2)).toEqual(lost);
    for (const n of ["new 1", "new 2", "new 3"]) await topic.publish({ n });
    expect(await acknowledge(2)).toEqual(lost);
    expect(await thrownBy(async () => await reading.next())).toEqual(lost);
    expect((await topic.subscribe("s").next()).value).toMatchObject({ body: { n: "kept" } });
    expect(await acknowledge(0)).toEqual({ value: undefined });
    expect((await topic.subscribe("s").next()).value).toMatchObject({ body: { n: "new 1" } });
  });

  test("a storage that is set back while a message is acknowledged: the subscriber is told, gets all with from: first, and goes on", async () => {
    const [name, saver, other] = [newName(), storage.open(), storage.open()];
    const [topic, writer] = [
      createWorkspace(saver, name).topic("t"),
      createWorkspace(other, name).topic("t"),
    ];
    await writer.publish({ n: "kept" });
    const mark = await storage.mark();
    for (let n = 1; n <= 4; n += 1) await writer.publish({ n: `lost ${n}` });
    const reading = topic.subscribe("s");
    let last!: Message;
    for (let n = 0; n < 5; n += 1) last = (await reading.next()).value as Message;
    const workspaces = storageOf(saver);
    const commit = workspaces.commit.bind(workspaces);
    workspaces.commit = async (...call) => {
      workspaces.commit = commit;
      await storage.setBack(mark);
      await writer.publish({ n: "new 1" });
      return await commit(...call);
    };
    await last.ack();
    for (const n of ["new 2", "new 3"]) await writer.publish({ n });
    expect(await thrownBy(async () => await topic.subscribe("s").next())).toEqual(lost);
    const again: unknown[] = [];
    for await (const { body, ack } of topic.subscribe("s", { from: "first" })) {
      again.push(body["n"]);
      await ack();
      if (again.length === 3) break;
    }
    expect(again).toEqual(["kept", "new 1", "new 2"]);
    expect((await topic.subscribe("s").next()).value).toMatchObject({ body: { n: "new 3" } });
  });

  test.each([false, true])("a cursor of the version before, set back (wholly: %s)", async (wholly) => {
    const [name, saver] = [newName(), storage.open()];
    const ws = createWorkspace(saver, name);
    let mark = await storage.mark();
    await put(ws, "kept", 2);
    if (!wholly) mark = await storage.mark();
    await put(ws, "lost", 2);
    const { cursor } = await endOf(ws);
    const { isEntry: _, ...older } = decodeCursor(
      cursor,
      (_each: unknown): _each is Record<string, unknown> => true,
      "",
    );
    await storage.setBack(mark);
    if (wholly) await storage.jump?.();
    await put(ws, "new", 5);
    expect(await thrownBy(async () => await ws.changes({ cursor: encodeCursor(older) }))).toEqual(lost);
  });
});

describe.skipIf(!available.postgres)("a standby that lagged is promoted", () => {
  let primary: PostgresServer;
  let replica: PostgresReplica;
  const savers: PostgresSaver[] = [];
  afterAll(async () => {
    await Promise.all(savers.map((saver) => saver.end()));
    await replica?.stop();
    await primary?.stop();
  });

  test("a reader of what was lost is told after one commit, though versions jump beyond it", async () => {
    primary = await startPostgres();
    replica = await startReplica(primary);
    const url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${replica.port}/postgres?target_session_attrs=read-write`;
    const open = (): PostgresSaver => {
      const saver = PostgresSaver.fromConnString(url);
      savers.push(saver);
      return saver;
    };
    const writer = open();
    await writer.setup();
    const ws = createWorkspace(writer, "w");
    await put(ws, "kept", 5);
    await replica.caughtUp();
    await query(replica.url, "alter system set primary_conninfo = ''");
    await query(replica.url, "select pg_reload_conf()");
    await waitUntil("the standby to be cut off", async () => {
      const [row] = await query(
        replica.url,
        "select count(*)::integer as receivers from pg_stat_wal_receiver",
      );
      return row?.["receivers"] === 0;
    });
    await put(ws, "lost", 3);
    const { version, byCursor, byVersion } = await placesOf(ws);
    const watcher = await heldWatcher(open(), "w", version);
    await primary.kill();
    await replica.promote();
    await put(ws, "new", 1);
    expect(await ws.version()).toBeGreaterThan(version);
    expect(await ws.get(["a"], "lost 1")).toBeNull();
    expect(await watcher()).toEqual(lost);
    expect(await byCursor()).toEqual(lost);
    expect(await byVersion()).toEqual(Array.from({ length: 7 }, () => lost));
  });
});
