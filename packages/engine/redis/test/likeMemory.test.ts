import { MemoryTier, StratigraphError, type Tier } from "@stratigraph/core";
import type { Blob, CopyKeeper } from "@stratigraph/core/tier";
import fc from "fast-check";
import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redis } from "../src/index.ts";
import { inRounds } from "../../../../test/rounds.ts";

// Random histories of a thread on the reference tier and on Redis: whatever is done, both answer the same.

const ids = ["c1", "c2", "c3", "c4"];
const id = fc.constantFrom(...ids);
const namespace = fc.constantFrom("", "sub");
const hash = fc.constantFrom("h1", "h2", "h3", "h4");
/** How many steps ago the writer read; undefined: it never did. */
const seen = fc.option(fc.nat(6), { nil: undefined });

const head = fc.record({
  namespace,
  to: id,
  expected: fc.oneof(
    { weight: 1, arbitrary: fc.constant("any" as const) },
    { weight: 3, arbitrary: fc.subarray(ids, { maxLength: 1 }) },
  ),
});
const record = fc.record({
  namespace,
  checkpointId: id,
  parentId: fc.option(id, { nil: undefined }),
  runId: fc.option(fc.constantFrom("run"), { nil: undefined }),
  terms: fc.subarray([1, -1, 12]),
  blobs: fc.uniqueArray(hash, { maxLength: 2 }),
  lostTo: fc.option(id, { nil: undefined, freq: 9 }),
});
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      records: fc.array(record, { maxLength: 2 }),
      heads: fc.uniqueArray(head, { maxLength: 2, selector: (move) => move.namespace }),
      onConflict: fc.constantFrom("refuse" as const, "branch" as const),
      seen,
      relies: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("writes" as const),
      namespace,
      checkpointId: id,
      blobs: fc.uniqueArray(hash, { maxLength: 1 }),
      seen,
      relies: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("remove" as const),
      ago: fc.nat(1),
      checkpoints: fc.array(fc.record({ namespace, checkpointId: id }), { maxLength: 3 }),
      dropBlobs: fc.uniqueArray(hash, { maxLength: 1 }),
      replaceBlobs: fc.uniqueArray(hash, { maxLength: 1 }),
      heads: fc.uniqueArray(fc.record({ namespace, to: fc.option(id, { nil: undefined }) }), {
        maxLength: 1,
        selector: (move) => move.namespace,
      }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("evict" as const), ago: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("adopt" as const),
      namespace,
      revision: fc.nat(9),
      head: fc.option(id, { nil: undefined }),
      writes: fc.nat(2),
      isRecord: fc.boolean(),
      blobs: fc.uniqueArray(hash, { maxLength: 2 }),
      isPast: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("invalidate" as const), before: fc.nat(9) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** h2 is a patch on h1, h3 on h2. h1 and h3 are large ones, unless replaced. */
const bases: Record<string, string> = { h2: "h1", h3: "h2" };
const sizes: Record<string, number> = { h1: 40_000, h3: 50_000 };
const blob = (name: string, bytes: string): Blob => ({
  hash: name,
  base: bases[name],
  bytes: Buffer.alloc(sizes[name] ?? bytes.length, bytes),
});

const farAway = Date.now() + 3_600_000;

/** One tier with the revisions it told, newest last. */
class Told {
  readonly revisions = [0];
  readonly tier: Tier & CopyKeeper;
  readonly threadId: string;

  constructor(tier: Tier & CopyKeeper, threadId: string) {
    this.tier = tier;
    this.threadId = threadId;
  }

  ago(steps: number): number {
    return this.revisions[Math.max(0, this.revisions.length - 1 - steps)]!;
  }

  async do(what: Step, n: number): Promise<unknown> {
    const { tier, threadId } = this;
    const at = what.do === "append" || what.do === "writes" ? what.seen : undefined;
    const known = at === undefined ? undefined : this.ago(at);
    if (what.do === "append") {
      const named = what.records.flatMap(({ blobs }) => blobs);
      return await tier.append({
        ...what,
        threadId,
        seen: known,
        records: what.records.map((one) => ({ ...one, threadId, body: Buffer.from(`body ${n}`) })),
        blobs: withBases(named).map((name) => blob(name, `bytes ${name}`)),
        writes: [],
      });
    }
    if (what.do === "writes") {
      const newBlobs = withBases(what.blobs).map((name) => blob(name, `bytes ${name}`));
      const body = Buffer.from(`writes ${n}`);
      return await tier.appendWrites({ ...what, threadId, taskId: `t${n}`, body, newBlobs, seen: known });
    }
    if (what.do === "remove") {
      return await tier.remove({
        ...what,
        threadId,
        revision: this.ago(what.ago),
        checkpoints: what.checkpoints.map((one) => ({ ...one, threadId })),
        replaceBlobs: what.replaceBlobs.map((name) => ({ hash: name, bytes: Buffer.from(`new ${n}`) })),
      });
    }
    if (what.do === "adopt") {
      const { head: checkpointId, writes, isRecord, isPast, ...copy } = what;
      const body = Buffer.from(`adopted ${n}`);
      const record =
        checkpointId === undefined || !isRecord
          ? undefined
          : { threadId, namespace: what.namespace, checkpointId, terms: [1], blobs: what.blobs, body };
      const batches = Array.from({ length: writes }, (_, m) => m + 1).map((order) => {
        return { order, taskId: `t${order}`, blobs: [], body };
      });
      return await tier.adopt({
        ...copy,
        threadId,
        head: checkpointId,
        record,
        blobs: withBases(what.blobs).map((name) => blob(name, `bytes ${name}`)),
        writes: batches,
        untilMs: isPast ? 1 : farAway,
      });
    }
    if (what.do === "invalidate") return await tier.invalidate(threadId, what.before);
    if (what.do === "evict") return await tier.evict(threadId, this.ago(what.ago));
    // Redis leaves a tombstone for threads that it doesn't know: they may have expired.
    if (this.ago(0) > 0) await tier.deleteThread(threadId);
    return undefined;
  }

  /** Everything that can be read, without revisions: they only have to grow alike. */
  async all(): Promise<unknown> {
    const { tier, threadId } = this;
    const states: unknown[] = [];
    const { revision } = await tier.peek({ threadId, namespace: "" });
    states.push(revision === this.ago(0) ? "as before" : revision > this.ago(0) ? "grown" : "shrunk");
    this.revisions.push(revision);
    for (const namespace of ["", "sub"]) {
      for (const checkpointId of [undefined, ...ids]) {
        const peek = await tier.peek({ threadId, namespace, checkpointId });
        const { checkpoint, head, copy } = await tier.read({ threadId, namespace, checkpointId });
        states.push([peek.head, peek.checkpointId, peek.writes.map(plainBatch), head, peek.copy, copy]);
        const { record, writes } = peek;
        states.push(record === undefined ? "none" : plainRecord({ record, writes }));
        states.push(checkpoint === undefined ? "none" : [plainRecord(checkpoint), needed(checkpoint)]);
      }
    }
    const queries = [
      {},
      { namespace: "sub" },
      { before: "c3", terms: [1] },
      { namespace: "", lost: true, recordsOnly: true, limit: 2 },
      { runIds: ["run"] },
      { checkpointId: "c2", namespace: "" },
    ];
    for (const query of queries) {
      const found: string[] = [];
      for await (const listed of tier.list({ threadId, ...query }))
        found.push(JSON.stringify([plainRecord(listed), listed.head]));
      // Among equal ids of two namespaces the order is free.
      states.push(
        found.map((one) => JSON.parse(one).at(0).checkpointId),
        found.sort(),
      );
    }
    states.push(
      (await tier.blobs(threadId)).map(({ hash, base, size }) => [hash, base ?? null, size]).sort(),
    );
    return states;
  }
}

function withBases(names: readonly string[]): string[] {
  const all = new Set(names);
  for (const name of all) if (bases[name] !== undefined) all.add(bases[name]!);
  return [...all];
}

type Stored = Awaited<ReturnType<Tier["read"]>>["checkpoint"] & object;

function plainRecord({ record, writes }: Pick<Stored, "record" | "writes">) {
  const { checkpointId, namespace, parentId, runId, terms, blobs, lostTo } = record;
  const body = Buffer.from(record.body).toString();
  return {
    checkpointId,
    namespace,
    parentId,
    runId,
    terms,
    blobs,
    lostTo,
    body,
    writes: writes.map(plainBatch),
  };
}

function plainBatch({ taskId, blobs, body }: Stored["writes"][number]) {
  return { taskId, blobs, body: Buffer.from(body).toString() };
}

function needed({ record, blobs, writes }: Stored): unknown {
  const all = new Set([...record.blobs, ...writes.flatMap((batch) => batch.blobs)]);
  for (const name of all) {
    const base = blobs.get(name)?.base;
    if (base !== undefined) all.add(base);
  }
  return [...all].sort().map((name) => [name, Buffer.from(blobs.get(name)!.bytes).toString()]);
}

async function outcome(work: Promise<unknown>): Promise<unknown> {
  try {
    const answer = await work;
    return typeof answer === "object" && answer !== null && "heads" in answer ? answer.heads : answer;
  } catch (error) {
    if (!StratigraphError.is(error) || error.code === "UNAVAILABLE") throw error;
    const { threadId: _threadId, ...data } = error.data;
    return [error.code, data];
  }
}

test("a random history reads the same on Redis and on the reference tier", async () => {
  const { url, prefix } = await sharedRedis();
  const client = new Redis(url);
  const tier = redis({ client, prefix, ttl: "1h" });
  let threads = 0;
  const statistics = new Map<string, number>();
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const threadId = `thread ${(threads += 1)}`;
        const memory = new Told(new MemoryTier(), threadId);
        const real = new Told(tier, threadId);
        for (const [n, what] of steps.entries()) {
          const expected = await outcome(memory.do(what, n));
          const said = Array.isArray(expected) && typeof expected[0] === "string" ? expected[0] : "done";
          statistics.set(`${what.do} ${said}`, (statistics.get(`${what.do} ${said}`) ?? 0) + 1);
          expect(await outcome(real.do(what, n))).toEqual(expected);
          expect(await real.all()).toEqual(await memory.all());
        }
      }),
      { seed: 11, numRuns: inRounds({ few: 50, all: 80 }) },
    );
  } finally {
    client.disconnect();
  }
  // The histories reach what they are for.
  for (const reached of ["CHECKPOINT_CONFLICT", "THREAD_DELETED", "STALE_READ"])
    expect(statistics.get(`append ${reached}`) ?? 0, reached).toBeGreaterThan(2);
});
