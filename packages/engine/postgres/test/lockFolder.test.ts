import fs, { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StratigraphError } from "@stratigraph/core";
import { expect, test } from "vitest";
import { inFrontOf } from "../../../../test/inFrontOf.ts";
import { available } from "../../../../test/servers/available.ts";
import { runChild } from "../../../../test/servers/children.ts";
import { inContainer } from "../../../../test/servers/container.ts";
import { lockFolder } from "../src/connection/lockFolder.ts";
import { PostgresSaver } from "@stratigraph/postgres";
import { openShared } from "../src/connection/sharedFolders.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import type { StoppedMessage, Told } from "./support/stoppedChild.ts";
import type { LockMessage } from "./support/lockChild.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stratigraph-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a second taker is told who holds the folder, also in the same process", () => {
  const lock = lockFolder(folder);
  const taken = (): unknown => {
    try {
      lockFolder(folder).release();
    } catch (error) {
      return error;
    }
    return undefined;
  };
  const error = taken();
  expect(StratigraphError.is(error, "LOCKED")).toBe(true);
  expect(error).toMatchObject({ data: { folder, pid: process.pid } });
  // Stopping "the other process" would stop the caller.
  expect(String(error)).toContain(`This process (${process.pid}) has folder ${folder} open already`);
  expect(String(error)).toContain("its store() and its cache()");
  expect(String(error)).not.toContain("stop the other one");
  lock.release();
  expect(() => lock.check()).toThrow(expect.objectContaining({ code: "CLOSED" }) as Error);
  expect(taken()).toBeUndefined();
  expect(existsSync(join(folder, "stratigraph.lock"))).toBe(false);
});

test("where a process shares its folders, all open one database, and the last one closes it", async () => {
  const shared = globalThis as { [key: symbol]: unknown };
  const key = Symbol.for("stratigraph.sharedFolders");
  const closed: number[] = [];
  let opened = 0;
  const open = async () => {
    const n = (opened += 1);
    const lock = lockFolder(folder);
    const query = () => Promise.resolve({ rows: [n] });
    return {
      database: { query, exec: query, close: () => Promise.resolve(void closed.push(n)) },
      release: () => lock.release(),
    };
  };
  const end = async ({ database, release }: Awaited<ReturnType<typeof openShared>>): Promise<void> => {
    await database.close();
    release();
  };
  const isLocked = (): boolean => existsSync(join(folder, "stratigraph.lock"));
  const alone = await openShared(folder, open);
  await expect(openShared(folder, open)).rejects.toMatchObject({ code: "LOCKED" });
  await end(alone);
  shared[key] = new Map();
  try {
    const [first, second] = await Promise.all([openShared(folder, open), openShared(`${folder}/.`, open)]);
    await end(first!);
    expect([closed, isLocked()]).toEqual([[1], true]);
    expect(await second!.database.query("", [], { parsers: {}, serializers: {} })).toEqual({ rows: [3] });
    await end(second!);
    expect([closed, isLocked()]).toEqual([[1, 3], false]);
    const failing = () => Promise.reject(new Error("no disk"));
    await expect(openShared(folder, failing)).rejects.toThrow("no disk");
    await end(await openShared(folder, open));
  } finally {
    delete shared[key];
  }
});

test("a lock is stale whose process is gone, or was another one with the same id", () => {
  const file = join(folder, "stratigraph.lock");
  const gone = { pid: 2 ** 22 + 1, startedAt: "1", token: "a" };
  const reused = { pid: process.pid, startedAt: "1", token: "b" };
  for (const holder of [gone, reused]) {
    writeFileSync(file, JSON.stringify(holder));
    lockFolder(folder).release();
  }
  writeFileSync(file, JSON.stringify({ pid: process.ppid, token: "c", port: 2024 }));
  expect(() => lockFolder(folder)).toThrow(`by process ${process.ppid}, which listens on port 2024. `);
  // In the making, on a file system that shows files before their content.
  writeFileSync(file, "");
  expect(() => lockFolder(folder)).toThrow("is in use by process unknown");
});

test.skipIf(!available.containers)(
  "a process in another container keeps the folder, and loses it a minute after it ended",
  async () => {
    const file = join(folder, "stratigraph.lock");
    const script = join(import.meta.dirname, "support/holdingChild.ts");
    const child = runChild<"held" | "renewed">(script, [folder], { execPath: inContainer(folder) });
    await child.message((message) => message === "held");
    const { pid } = JSON.parse(readFileSync(file, "utf8")) as { pid: number };
    // Its id in there is that of a process which doesn't run it out here.
    expect(pid).not.toBe(child.pid);
    expect(() => lockFolder(folder)).toThrow(`is in use by process ${pid} of another machine or container`);
    const before = new Date(Date.now() - 3_600_000);
    utimesSync(file, before, before);
    // It renews what an hour's pause let grow old.
    child.send("renew");
    await child.message((message) => message === "renewed");
    expect(() => lockFolder(folder)).toThrow("If that process has ended");
    await child.kill();
    expect(() => lockFolder(folder)).toThrow("If that process has ended");
    utimesSync(file, before, before);
    lockFolder(folder).release();
  },
);

test("who takes a stale lock away looks again: the next holder may be there already", () => {
  const file = join(folder, "stratigraph.lock");
  const lock = lockFolder(folder);
  const living = readFileSync(file, "utf8");
  const gone = { pid: 2 ** 22 + 1, startedAt: "1", token: "a" };
  writeFileSync(file, JSON.stringify(gone));
  // Another process took the lock over since this one saw that its holder is gone.
  const restore = inFrontOf(fs, "linkSync", (real) => (from, to) => {
    if (to === `${file}.breaking`) writeFileSync(file, living);
    real(from, to);
  });
  try {
    expect(() => lockFolder(folder)).toThrow(`This process (${process.pid}) has folder`);
  } finally {
    restore();
  }
  expect(readFileSync(file, "utf8")).toBe(living);
  lock.release();
  expect(existsSync(file)).toBe(false);
});

test("who was taken for dead doesn't release the lock of the next holder", () => {
  const file = join(folder, "stratigraph.lock");
  const lock = lockFolder(folder);
  const next = JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), token: "of the next holder" });
  writeFileSync(file, next);
  lock.release();
  expect(readFileSync(file, "utf8")).toBe(next);
});

test("a holder that was stopped while its folder was taken over acknowledges nothing when it wakes up", async () => {
  const script = join(import.meta.dirname, "support/stoppedChild.ts");
  const child = runChild<StoppedMessage>(script, [folder]);
  const tell = (told: Told) => child.send(told);
  tell({ thread: "before" });
  await child.message(({ put }) => put === "before");
  process.kill(child.pid, "SIGSTOP");
  // As if it ran in another container, for a minute.
  const file = join(folder, "stratigraph.lock");
  const holder = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...holder, machine: "another" }));
  const before = new Date(Date.now() - 61_000);
  utimesSync(file, before, before);
  const next = PostgresSaver.embedded(folder);
  await next.setup();
  const put = async (threadId: string) => {
    const checkpoint = checkpointOf({ n: 1 });
    const metadata = { source: "loop", step: 0, parents: {} } as const;
    await next.put(at(threadId), checkpoint, metadata, checkpoint.channel_versions);
  };
  await put("next");
  process.kill(child.pid, "SIGCONT");
  tell({ thread: "late", wakesUp: true });
  expect(await child.message(({ code }) => code !== undefined)).toEqual({
    code: "LOCKED",
    ended: "LOCKED",
  });
  await child.kill();
  await put("after");
  await next.end();
  const again = PostgresSaver.embedded(folder);
  for (const thread of ["before", "next", "after"]) expect(await again.getTuple(at(thread))).toBeDefined();
  expect(await again.getTuple(at("late"))).toBeUndefined();
  await again.end();
});

test("a holder that wakes up in time keeps the folder: its next call shows that it is alive", () => {
  const file = join(folder, "stratigraph.lock");
  const lock = lockFolder(folder);
  const holder = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...holder, machine: "another" }));
  const before = new Date(Date.now() - 61_000);
  utimesSync(file, before, before);
  onTestFinished(inFrontOf(Date, "now", (real) => () => real() + 61_000));
  lock.check();
  expect(() => lockFolder(folder)).toThrow("of another machine or container");
  lock.check();
  lock.release();
  expect(existsSync(file)).toBe(false);
});

test("a holder that wakes up late is told at its next call, before its timer fires", () => {
  const file = join(folder, "stratigraph.lock");
  const lock = lockFolder(folder);
  const next = JSON.stringify({ pid: 4711, startedAt: "1", token: "of the next holder" });
  writeFileSync(file, next);
  lock.check();
  onTestFinished(inFrontOf(Date, "now", (real) => () => real() + 61_000));
  const told = expect.objectContaining({ code: "LOCKED", data: { folder, pid: 4711 } }) as Error;
  for (let call = 0; call < 2; call += 1) expect(() => lock.check()).toThrow(told);
  lock.release();
  expect(readFileSync(file, "utf8")).toBe(next);
});

test("a process that died while it took a stale lock away is waited for, and then passed over", () => {
  const file = join(folder, "stratigraph.lock");
  writeFileSync(file, JSON.stringify({ pid: 2 ** 22 + 1, startedAt: "1", token: "a" }));
  writeFileSync(`${file}.breaking`, "1");
  expect(() => lockFolder(folder)).toThrow("is in use by process 4194305");
  const before = new Date(Date.now() - 11_000);
  utimesSync(`${file}.breaking`, before, before);
  lockFolder(folder).release();
});

test("processes that take it in turn, some killed while they hold it, never meet", async () => {
  const script = join(import.meta.dirname, "support/lockChild.ts");
  const start = (forMs: number) => runChild<LockMessage>(script, [folder, String(forMs)]);
  const staying = [0, 1].map(() => start(5_000));
  const killed = [0, 1, 2].map(async () => {
    const child = start(60_000);
    await child.message(({ type }) => type === "held");
    return await child.kill();
  });
  for (const exit of await Promise.all(killed)) expect(exit.signal).toBe("SIGKILL");
  for (const child of staying) {
    const end = await child.message(({ type }) => type === "end");
    expect(end).toMatchObject({ held: expect.toSatisfy((held: number) => held > 10) });
    expect(child.messages.filter(({ type }) => type === "violation")).toEqual([]);
    await child.exit;
  }
});
