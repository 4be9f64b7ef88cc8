import { PostgresTier } from "@stratigraph/postgres";
import { StratigraphError } from "@stratigraph/core";
import pg from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import type { Executor, PgQuery, PgResult } from "../../src/connection/client.ts";
import { PoolExecutor } from "../../src/connection/poolExecutor.ts";
import { resolveDatabaseOptions } from "../../src/options.ts";
import { appendOf, writesOf } from "./support/requests.ts";

// In which order the appends of one process are sent, whatever statement is held up or fails.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let pool: pg.Pool;
let server: PoolExecutor;
beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 10 });
  server = new PoolExecutor(pool, { ...resolveDatabaseOptions({}), retryForMs: 0 });
  await new PostgresTier(server, "stratigraph").setup();
});
// Time stands still: a group counts as held up when a test says so, and not because this machine is busy.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** A statement that was sent and waits: it goes on to the server, or fails. */
interface Held {
  readonly threads: readonly string[];
  goOn(): void;
  fail(error: Error): void;
}

/** Which threads an append is for, by its first argument. */
function threadsIn(lists: string): string[] {
  const { requests } = JSON.parse(lists) as { requests: { key: string }[] };
  // A key is hexadecimal, after "\\x" and a byte that says what it holds.
  return requests.map(({ key }) => Buffer.from(key.slice(4), "hex").toString());
}

/** A tier whose appends wait until they are told to go on. */
class HeldTier extends PostgresTier {
  readonly held: Held[];

  constructor() {
    const held: Held[] = [];
    const send = async (query: PgQuery): Promise<PgResult> => {
      if (!/append/.test(query.text)) return await server.send(query);
      const threads = threadsIn(query.values![0] as string);
      await new Promise<void>((resolve, reject) => held.push({ threads, goOn: resolve, fail: reject }));
      return await server.send(query);
    };
    const executor: Executor = {
      send,
      run: (query) => server.run(query),
      enter: () => server.enter(),
      end: () => server.end(),
    };
    super(executor, "stratigraph");
    this.held = held;
  }

  /** Takes the statements that are held, once all that can be sent now was sent. */
  async sent(): Promise<Held[]> {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return this.held.splice(0);
  }

  /** Lets all go on, until none is left. */
  async through<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const end = (): void => void (state.isDone = true);
    work.then(end, end);
    while (!state.isDone) for (const statement of await this.sent()) statement.goOn();
    return await work;
  }
}

const large = (threadId: string, id: string, parentId?: string) =>
  appendOf(threadId, id, parentId, { content: Buffer.alloc(300_000, threadId) });
/** Two of these don't fit into one group. */
const halfGroup = (threadId: string, id: string) =>
  appendOf(threadId, id, undefined, { content: Buffer.alloc(200_000, threadId) });

const threadsOf = (held: readonly Held[]) => held.map(({ threads }) => threads.join(" "));

test("a large append that waits for its turn isn't overtaken by a later, small one of its thread", async () => {
  const tier = new HeldTier();
  const others = Array.from({ length: 4 }, (_, n) => tier.append(large(`large${n}`, "1")));
  const busy = await tier.sent();
  expect(threadsOf(busy)).toEqual(["large0", "large1", "large2", "large3"]);
  const line = [
    tier.append(large("waits", "1")),
    tier.append(appendOf("waits", "2", "1")),
    tier.append(appendOf("beside", "1")),
  ];
  const besides = await tier.sent();
  expect(threadsOf(besides)).toEqual(["beside"]);
  for (const statement of [...busy, ...besides]) statement.goOn();
  await tier.through(Promise.all([...others, ...line]));
  expect((await tier.read({ threadId: "waits", namespace: "" })).head).toBe("2");
});

test("an append for which a group has no room isn't overtaken by a later one of its thread", async () => {
  const tier = new HeldTier();
  const line = [
    tier.append(halfGroup("first", "1")),
    tier.append(halfGroup("full", "1")),
    tier.append(appendOf("full", "2", "1")),
  ];
  const group = await tier.sent();
  expect(threadsOf(group)).toEqual(["first"]);
  for (const statement of group) statement.goOn();
  await tier.through(Promise.all(line));
  expect((await tier.read({ threadId: "full", namespace: "" })).head).toBe("2");
});

test("a thread has one statement under way at a time", async () => {
  const tier = new HeldTier();
  const first = tier.append(large("one", "1"));
  const [statement] = await tier.sent();
  const second = tier.append(appendOf("one", "2", "1"));
  expect(await tier.sent()).toEqual([]);
  statement!.goOn();
  await tier.through(Promise.all([first, second]));
});

test("what is tried again after its group failed comes before what its thread did since", async () => {
  const tier = new HeldTier();
  const first = tier.append(appendOf("again", "1"));
  const beside = tier.appendWrites(writesOf("other", "1", "task"));
  const [statement] = await tier.sent();
  expect(statement!.threads).toEqual(["again", "other"]);
  const later = tier.append(appendOf("again", "2", "1"));
  statement!.fail(new Error("a row that the server refuses"));
  const again = await tier.sent();
  expect(threadsOf(again)).toEqual(["again", "other"]);
  for (const one of again) one.goOn();
  await tier.through(Promise.all([first, beside, later]));
  expect([(await first).revision, (await later).revision]).toEqual([1, 2]);
});

test("the next group begins when the last one is held up, until four are under way", async () => {
  const tier = new HeldTier();
  const calls: Promise<unknown>[] = [];
  const groups: Held[] = [];
  const sentAfter = async (n: number): Promise<string[]> => {
    calls.push(tier.append(appendOf(`t${n}`, "1")));
    const sent = await tier.sent();
    groups.push(...sent);
    return threadsOf(sent);
  };
  expect([await sentAfter(0), await sentAfter(1)]).toEqual([["t0"], []]);
  const sent: string[][] = [];
  for (const n of [2, 3, 4, 5]) {
    vi.advanceTimersByTime(300);
    sent.push(await sentAfter(n));
  }
  expect(sent).toEqual([["t1 t2"], ["t3"], ["t4"], []]);
  for (const statement of groups) statement.goOn();
  await tier.through(Promise.all(calls));
});

test("with the server away, what waited for a statement fails with it, and what comes later is sent", async () => {
  const tier = new HeldTier();
  const threads = ["away 1", "away 2", "away 3"];
  const settled = Promise.allSettled(threads.map((threadId) => tier.append(halfGroup(threadId, "1"))));
  const [statement] = await tier.sent();
  expect(statement!.threads).toEqual(["away 1"]);
  vi.advanceTimersByTime(1);
  const later = tier.append(appendOf("later", "1"));
  statement!.fail(new StratigraphError("UNAVAILABLE", "gone for a while", { forMs: 400 }));
  const [next, ...more] = await tier.sent();
  expect([next!.threads, more]).toEqual([["later"], []]);
  for (const outcome of await settled) expect(outcome).toMatchObject({ reason: { code: "UNAVAILABLE" } });
  next!.goOn();
  await later;
});

test("a group that meets a lock isn't sent again as a group: its requests go alone, and only one of them waits", async () => {
  const sent: string[][] = [];
  const query = async ({ text, values }: { text: string; values?: unknown[] }) => {
    if (!/append/.test(text)) return await pool.query({ text, values: values ?? [] });
    sent.push(threadsIn(values![0] as string));
    if (sent.length === 1)
      throw Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" });
    return await pool.query({ text, values: values ?? [] });
  };
  const limits = { ...resolveDatabaseOptions({}), retryForMs: 15_000 };
  const tier = new PostgresTier(new PoolExecutor({ query }, limits), "stratigraph");
  const threads = ["locked 1", "locked 2"];
  await Promise.all(threads.map((threadId) => tier.append(appendOf(threadId, "1"))));
  expect(sent).toEqual([threads, ["locked 1"], ["locked 2"]]);
});
