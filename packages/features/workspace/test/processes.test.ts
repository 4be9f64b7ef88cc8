import { join } from "node:path";
import { createCheckpointer } from "stratigraph";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runChild, type Child } from "../../../../test/servers/children.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase, sharedRedis } from "../../../../test/servers/shared.ts";
import { suspend } from "../../../../test/servers/suspend.ts";
import { createWorkspace, type Workspace } from "../src/index.ts";
import type { Orders, Said, Storage } from "./processes.ts";
import { allRounds } from "../../../../test/rounds.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
const redis = await sharedRedis();
const children: Child<Said>[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(async () => {
  await Promise.all(children.map((child) => child.kill()));
  await database?.drop();
});

function start(
  storage: Storage,
  { name }: Workspace,
  work: Orders["work"],
  more: Partial<Orders> = {},
): Child<Said> {
  const orders: Orders = { storage, workspace: name, work, ...more };
  const child = runChild<Said>(join(import.meta.dirname, "processesChild.ts"), [JSON.stringify(orders)]);
  children.push(child);
  return child;
}

async function end(child: Child<Said>): Promise<void> {
  await child.message(({ did }) => did === "end");
  child.send("end");
  expect(await child.exit).toMatchObject({ code: 0 });
}

function numbers({ messages }: Child<Said>, did: Said["did"]): number[] {
  return messages.flatMap((said) => (said.did === did && "n" in said ? [said.n] : []));
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

const storages: readonly (readonly [string, () => Storage])[] = [
  ["PostgreSQL", () => ({ postgres: database.url })],
  ["Redis", () => ({ redis: `${redis.url}?prefix=${redis.prefix}alone:` })],
  ...(allRounds
    ? ([["a stack", () => ({ hot: `${redis.url}?prefix=${redis.prefix}hot:`, warm: database.url })]] as const)
    : []),
];

describe.each(storages)("processes on %s", (kind, config) => {
  let storage: Storage;
  let checkpointer: Awaited<ReturnType<typeof createCheckpointer>>;

  beforeAll(async () => {
    storage = config();
    checkpointer = await createCheckpointer(storage);
  });

  afterAll(() => checkpointer?.end());

  test("updates of four processes lose none", async () => {
    const workspace = createWorkspace(checkpointer, `${kind} updates`);
    await Promise.all(range(1, 4).map(() => end(start(storage, workspace, { do: "update", times: 50 }))));
    expect((await workspace.get(["counters"], "c"))!.value).toEqual({ sum: 200 });
  });

  test("transactions of four processes are whole, though one is killed and another does the rest", async () => {
    const workspace = createWorkspace(checkpointer, `${kind} transactions`);
    const others = range(1, 3).map((n) =>
      start(storage, workspace, { do: "count", as: `other ${n}`, times: 50 }),
    );
    const killed = start(storage, workspace, { do: "count", as: "killed", times: 40 });
    await killed.message((said) => said.did === "count" && said.n === 5);
    expect(await killed.kill()).toMatchObject({ signal: "SIGKILL" });
    const next = start(storage, workspace, { do: "count", as: "killed", times: 50 });
    await Promise.all([next, ...others].map(end));
    expect(numbers(next, "count").length).toBeLessThanOrEqual(44);
    expect((await workspace.get(["counters"], "c"))!.value).toEqual({ sum: 200 });
    expect(await workspace.search(["counted"], { limit: 1000 })).toHaveLength(200);
  });

  test("a subscriber that is killed before it acknowledges gets the message again, and none is lost", async () => {
    const workspace = createWorkspace(checkpointer, `${kind} subscriber`);
    for (const n of range(0, 9)) await workspace.topic("tasks").publish({ n });
    const first = start(storage, workspace, { do: "subscribe", diesAt: 7 });
    await first.message((said) => said.did === "handle" && said.n === 7);
    await first.kill();
    expect(numbers(first, "handle")).toEqual(range(0, 7));
    for (const n of range(10, 19)) await workspace.topic("tasks").publish({ n });
    const second = start(storage, workspace, { do: "subscribe" });
    await second.message((said) => said.did === "ack" && said.n === 19);
    expect(numbers(second, "handle")).toEqual(range(7, 19));
  });

  test("a holder that is suspended for longer than its lock lasts can't write when it wakes, with a clock that is wrong", async () => {
    const workspace = createWorkspace(checkpointer, `${kind} lock`);
    const holder = start(storage, workspace, { do: "lock" }, { clockMs: 3_600_000 });
    await holder.message(({ did }) => did === "lock");
    const write = async (nth: number): Promise<string[]> => {
      holder.send("write");
      await holder.message(() => codes().length === nth);
      return codes();
    };
    const codes = (): string[] =>
      holder.messages.flatMap((said) => (said.did === "write" ? [said.code] : []));
    expect(await write(1)).toEqual(["written"]);
    suspend(holder.pid);
    await workspace.lock("deploy", {}, async (lock) => {
      expect(lock.token).toBeGreaterThan(numbers(holder, "lock")[0]!);
      await workspace.put(["plan"], "state", { by: "parent" }, { lock });
      process.kill(holder.pid, "SIGCONT");
      expect(await write(2)).toEqual(["written", "LOCK_LOST"]);
    });
    expect(await write(3)).toEqual(["written", "LOCK_LOST", "LOCK_LOST"]);
    expect((await workspace.get(["plan"], "state"))!.value).toEqual({ by: "parent" });
  });
});

test("a watcher whose connections are cut sees each version once, in order", async () => {
  const checkpointer = await createCheckpointer({ postgres: database.url });
  const workspace = createWorkspace(checkpointer, "watcher");
  const url = new URL(database.url);
  url.searchParams.set("application_name", "watcher");
  const watcher = start({ postgres: url.href }, workspace, { do: "watch" });
  let last = 0;
  for (let round = 0; round < 3; round += 1) {
    for (let n = 0; n < 10; n += 1) {
      const written = await workspace.put(["a"], `${n}`, { round });
      last = written.ok ? written.version : 0;
    }
    await watcher.message((said) => said.did === "see" && said.n === last);
    const cut = `select count(pg_terminate_backend(pid))::integer as n from pg_stat_activity where application_name = 'watcher'`;
    expect((await query(database.url, cut))[0]!["n"]).toBeGreaterThan(0);
  }
  const written = await workspace.put(["a"], "last", {});
  await watcher.message((said) => said.did === "see" && written.ok && said.n === written.version);
  const versions: number[] = [];
  for await (const { version } of workspace.log()) versions.push(version);
  expect(versions).toHaveLength(31);
  expect(numbers(watcher, "see")).toEqual(versions);
  await checkpointer.end();
});
