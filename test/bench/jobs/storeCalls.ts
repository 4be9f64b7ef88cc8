import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import { InMemoryStore, type BaseStore } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { query } from "../../servers/postgres.ts";
import { randomNumbers } from "../randomNumbers.ts";
import { percentile } from "../stats.ts";
import { storedBytes } from "../storedBytes.ts";
import { countWire, resetWire } from "../wire.ts";

export type StoreId = "ours" | "official" | "memory" | "redis";

/** Input of the job. */
export interface StoreCallsInput {
  url: string;
  /** Those of PostgreSQL have a schema each, of this name and theirs. */
  schema: string;
  stores: readonly StoreId[];
  items: number;
  /** How often each quick call is measured, and each call that may read all items. */
  calls: number;
  scans: number;
}

/** Times in milliseconds. */
export interface StoreCall {
  p50: number;
  p99: number;
  statements: number;
}

export interface StoreCallsResult {
  /** Of an item, in batches of 1,000. */
  fillMs: number;
  /** Of an item, all tables and indexes, after VACUUM. 0 in memory and on Redis. */
  bytesPerItem: number;
  calls: Record<string, StoreCall>;
}

interface Opened {
  readonly store: BaseStore;
  readonly schema: string;
  readonly close: () => Promise<void>;
}

/** Items of one namespace: what an application remembers of one user. */
const perUser = 100;
const together = 1000;

/** Fills stores with the same items, and makes the same calls of all of them in turns. */
export async function job(input: StoreCallsInput): Promise<Partial<Record<StoreId, StoreCallsResult>>> {
  const wire = countWire();
  const results: Partial<Record<StoreId, StoreCallsResult>> = {};
  const opened: [StoreId, Opened][] = [];
  for (const id of input.stores) {
    const fillMs = await filled(id, input);
    const one = await opening[id](input.url, `${input.schema}_${id}`);
    const stored = isInPostgres(id) ? (await storedBytes(input.url, one.schema)).total : 0;
    if (isInPostgres(id)) await query(input.url, "vacuum (analyze)");
    results[id] = { fillMs, bytesPerItem: stored / input.items, calls: {} };
    opened.push([id, one]);
  }
  if (input.stores.some(isInPostgres)) await query(input.url, "checkpoint");
  for (const [name, { isScan = false, call }] of Object.entries(calls)) {
    const samples = new Map<StoreId, number[]>(input.stores.map((id) => [id, []]));
    const statements = new Map<StoreId, number>();
    const [count, warmUp] = isScan ? [input.scans, 1] : [input.calls, Math.min(30, input.calls)];
    const numbers = new Map(input.stores.map((id) => [id, randomNumbers(11)]));
    for (let n = -warmUp; n < count; n += 1)
      for (const [id, { store }] of opened) {
        resetWire(wire);
        const start = performance.now();
        await call(store, Math.floor(numbers.get(id)!() * input.items), n + warmUp, input.items);
        if (n >= 0) samples.get(id)!.push(performance.now() - start);
        statements.set(id, wire.statements);
      }
    for (const [id, all] of samples)
      results[id]!.calls[name] = {
        p50: percentile(all, 0.5),
        p99: percentile(all, 0.99),
        statements: statements.get(id)!,
      };
  }
  for (const [, { close }] of opened) await close();
  return results;
}

const newValue = {
  kind: "fact",
  score: -1,
  text: "The user was here once more, and said that they like coffee.",
};

interface Call {
  /** Whether it may read all items. */
  readonly isScan?: true;
  /** `n` is the number of an item, `nth` that of the call. Throws if the result isn't what was asked for. */
  call(store: BaseStore, n: number, nth: number, items: number): Promise<void>;
}

const calls: Record<string, Call> = {
  get: {
    call: async (store, n) => expectCount([await store.get(namespaceOf(n), keyOf(n))].filter(Boolean), 1),
  },
  "put, a new item": {
    call: async (store, n, nth) => await store.put(namespaceOf(n), `new-${nth}`, newValue),
  },
  "put, an item that is there": {
    call: async (store, n, nth, items) =>
      await store.put(namespaceOf(n), keyOf(n), { ...valueOf(n, items), nth }),
  },
  "batch of 10 gets": {
    call: async (store, n) => {
      const keys = Array.from({ length: 10 }, (_, nth) => n - (n % perUser) + nth);
      expectCount(await store.batch(keys.map((at) => ({ namespace: namespaceOf(at), key: keyOf(at) }))), 10);
    },
  },
  "batch of 10 puts": {
    call: async (store, n, nth) => {
      const at = namespaceOf(n);
      const puts = Array.from({ length: 10 }, (_, place) => ({
        namespace: at,
        key: `batch-${nth}-${place}`,
        value: newValue,
      }));
      await store.batch(puts);
    },
  },
  "search of one namespace": {
    call: async (store, n) => expectCount(await store.search(namespaceOf(n)), 10),
  },
  "the same, by a field": {
    call: async (store, n) => {
      const found = await store.search(namespaceOf(n), { filter: { score: n % 97 } });
      if (!found.some(({ key }) => key === keyOf(n))) throw new Error("an item isn't found");
    },
  },
  "search of all, by a field that ten have": {
    isScan: true,
    call: async (store) => expectCount(await store.search(["users"], { filter: { kind: "rare" } }), 10),
  },
  "search of all, by a comparison that none meets": {
    isScan: true,
    call: async (store) => expectCount(await store.search(["users"], { filter: { score: { $gt: 97 } } }), 0),
  },
  "the first 100 namespaces": {
    isScan: true,
    call: async (store) => {
      await store.listNamespaces({ limit: 100 });
    },
  },
};

function expectCount(found: readonly unknown[], count: number): void {
  if (found.length !== count) throw new Error(`found ${found.length}, not ${count}`);
}

function namespaceOf(n: number): string[] {
  return ["users", `user-${Math.floor(n / perUser)}`];
}

function keyOf(n: number): string {
  return `fact-${n}`;
}

/** Ten of all items are rare. */
function valueOf(n: number, items: number): Record<string, unknown> {
  return {
    kind: n % (items / 10) === 0 ? "rare" : "fact",
    score: n % 97,
    text: `Fact ${n}: the user said that they like tea, and that the meeting is on Monday.`,
  };
}

const opening: Record<StoreId, (url: string, schema: string) => Promise<Opened>> = {
  async ours(url, schema) {
    const saver = PostgresSaver.fromConnString(url, { schema });
    await saver.setup();
    return { store: saver.store(), schema, close: () => saver.end() };
  },
  async official(url, schema) {
    const store = PostgresStore.fromConnString(url, { schema });
    await store.setup();
    return { store, schema, close: () => store.stop() };
  },
  async redis(url, schema) {
    const saver = await RedisSaver.fromUrl(url, { commandTimeout: "1m" });
    return { store: saver.store(), schema, close: () => saver.end() };
  },
  async memory(_url, schema) {
    return { store: inMemory, schema, close: async () => {} };
  },
};

function isInPostgres(id: StoreId): boolean {
  return id === "ours" || id === "official";
}

/** Filled and measured by the same process. */
const inMemory = new InMemoryStore();

/** Fills a store in batches. Nobody waits for an answer, so commits needn't reach the disk one by one. Milliseconds per item. */
async function filled(id: StoreId, { url, schema, items }: StoreCallsInput): Promise<number> {
  const there = new URL(url);
  if (isInPostgres(id)) there.searchParams.set("options", "-c synchronous_commit=off");
  const { store, close } = await opening[id](there.href, `${schema}_${id}`);
  // PostgresStore makes a statement of each put: the rest of a million is inserted by one statement.
  const batched = id === "official" ? Math.min(items, 20_000) : items;
  const start = performance.now();
  for (let first = 0; first < batched; first += together)
    await store.batch(
      Array.from({ length: Math.min(together, items - first) }, (_, n) => ({
        namespace: namespaceOf(first + n),
        key: keyOf(first + n),
        value: valueOf(first + n, items),
      })),
    );
  const took = (performance.now() - start) / batched;
  await close();
  if (batched < items)
    await query(
      url,
      `insert into ${schema}_${id}.store (namespace_path, key, value)
       select 'users:user-' || n / ${perUser}, 'fact-' || n, jsonb_build_object(
                'kind', case when n % ${items / 10} = 0 then 'rare' else 'fact' end, 'score', n % 97,
                'text', 'Fact ' || n || ': the user said that they like tea, and that the meeting is on Monday.')
         from generate_series(${batched}, ${items - 1}) n`,
    );
  return took;
}
