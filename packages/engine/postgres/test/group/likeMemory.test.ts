import { MemoryTier, StratigraphError, type Tier } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import fc from "fast-check";
import pg from "pg";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { blobOf } from "./support/requests.ts";
import { inRounds } from "../../../../../test/rounds.ts";

// Random requests: PostgreSQL gets several at once, the reference tier one after the other. Both must give the same answers and hold the
// same in the end. Requests of several threads go through append_1, those of one thread through append_thread_1.

const ids = ["c1", "c2", "c3", "c4", "long ".repeat(200)];
const threads = ["one", "two", "three", "long ".repeat(300)];
const namespaces = ["", "sub"];
const id = fc.constantFrom(...ids);
const namespace = fc.constantFrom(...namespaces);
const threadId = fc.constantFrom(...threads);
const seen = fc.option(fc.nat(4), { nil: undefined, freq: 1 });
const contents = fc.subarray(["a", "b", "c"], { maxLength: 2 });

const append = fc.record({
  do: fc.constant("append" as const),
  threadId,
  records: fc.array(
    fc.record({
      namespace,
      checkpointId: id,
      parentId: fc.option(id, { nil: undefined }),
      terms: fc.subarray([1, -1, 12]),
      contents,
      lostTo: fc.option(id, { nil: undefined, freq: 9 }),
    }),
    { maxLength: 3 },
  ),
  heads: fc.uniqueArray(
    fc.record({
      namespace,
      to: id,
      expected: fc.oneof(fc.constant("any" as const), fc.subarray(ids, { maxLength: 3 })),
    }),
    { maxLength: 2, selector: (move) => move.namespace },
  ),
  writes: fc.array(fc.record({ namespace, checkpointId: id }), { maxLength: 2 }),
  onConflict: fc.constantFrom("refuse" as const, "branch" as const),
  seen,
  relies: fc.boolean(),
});
const writes = fc.record({
  do: fc.constant("writes" as const),
  threadId,
  namespace,
  checkpointId: id,
  contents,
  seen,
  relies: fc.boolean(),
});
const request = fc.oneof({ weight: 3, arbitrary: append }, { weight: 2, arbitrary: writes });
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

/** What happens before the requests: some threads are deleted, or have blobs removed. */
const history = fc.array(
  fc.record({ threadId, what: fc.constantFrom("delete" as const, "remove" as const) }),
  {
    maxLength: 2,
  },
);

async function ask(tier: Tier, what: Request, n: number): Promise<unknown> {
  if (what.do === "writes") {
    const { contents: names, do: _do, ...rest } = what;
    const newBlobs = names.map(blobOf);
    const blobs = newBlobs.map(({ hash }) => hash);
    return await tier.appendWrites({
      ...rest,
      taskId: `t${n}`,
      blobs,
      body: Buffer.from(`writes ${n}`),
      newBlobs,
    });
  }
  const { records, writes: batches, do: _do, ...rest } = what;
  const body = Buffer.from(`body ${n}`);
  const { heads } = await tier.append({
    ...rest,
    records: records.map(({ contents: names, ...record }) => ({
      ...record,
      threadId: what.threadId,
      blobs: names.map((name) => blobOf(name).hash),
      body,
    })),
    blobs: records.flatMap(({ contents: names }) => names.map(blobOf)),
    writes: batches.map((at, m) => ({
      ...at,
      threadId: what.threadId,
      taskId: `t${n}.${m}`,
      blobs: [],
      body,
    })),
  });
  return heads;
}

async function outcome(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    if (!StratigraphError.is(error)) throw error;
    return [error.code, error.data];
  }
}

async function prepared(
  tier: Tier,
  before: typeof history extends fc.Arbitrary<infer T> ? T : never,
): Promise<void> {
  for (const { threadId: thread, what } of before) {
    const start = {
      namespace: "",
      checkpointId: "c1",
      parentId: undefined,
      terms: [],
      contents: ["a"],
      lostTo: undefined,
    };
    const heads = [{ namespace: "", to: "c1", expected: "any" as const }];
    const rest = { onConflict: "branch" as const, seen: undefined, relies: false, writes: [] };
    await ask(tier, { do: "append", threadId: thread, records: [start], heads, ...rest }, -1);
    if (what === "delete") await tier.deleteThread(thread);
    const { revision } = await tier.peek({ threadId: thread, namespace: "" });
    const none = { checkpoints: [], dropBlobs: [], replaceBlobs: [], heads: [] };
    if (what === "remove") await tier.remove({ threadId: thread, revision, ...none });
  }
}

/** All that can be read. */
async function all(tier: Tier): Promise<unknown> {
  const found: unknown[] = [];
  for (const thread of threads) {
    for (const ns of namespaces) {
      const { revision, head } = await tier.peek({ threadId: thread, namespace: ns });
      found.push([thread, ns, revision, head]);
      for (const checkpointId of ids) {
        const peek = await tier.peek({ threadId: thread, namespace: ns, checkpointId });
        found.push(
          peek.writes.map(({ taskId, blobs, body }) => [taskId, blobs, Buffer.from(body).toString()]),
        );
      }
      for await (const { record } of tier.list({ threadId: thread, namespace: ns })) {
        const { parentId, lostTo, terms, blobs, body, checkpointId } = record;
        found.push([checkpointId, parentId, lostTo, terms, blobs, Buffer.from(body).toString()]);
      }
    }
    found.push((await tier.blobs(thread)).map(({ hash }) => hash).toSorted());
  }
  return found;
}

const first = { threadId: threads[0]! };
// As savers ask: one record per namespace, to which its head moves. The tiers treat records beside one that its own child overtook
// differently.
const ofOneThread = request.map((each) => {
  if (each.do === "writes") return { ...each, ...first };
  const records = each.records.filter(
    ({ namespace: ns }, i) => i === each.records.findIndex((one) => one.namespace === ns),
  );
  const heads = each.heads.map((move) => ({
    ...move,
    to: records.find((one) => one.namespace === move.namespace)?.checkpointId ?? move.to,
  }));
  return { ...each, ...first, records, heads };
});
const historyOfOne = history.map((steps) => steps.map((step) => ({ ...step, ...first })));

test.each([
  { kind: "of several threads", requests: request, steps: history, together: 25 },
  { kind: "of one thread", requests: ofOneThread, steps: historyOfOne, together: 2 },
])(
  "requests $kind that come together are answered, and leave what they leave, as one after the other",
  async ({ requests: kind, steps, together }) => {
    const numRuns = inRounds({ few: 75, all: 150 });
    const database = await freshDatabase();
    const pool = new pg.Pool({ connectionString: database.url, max: 4 });
    const reached = new Map<string, number>();
    let schemas = 0;
    try {
      const tier = postgres({ pool });
      await tier.setup();
      const empty = async (): Promise<void> => {
        schemas += 1;
        await pool.query(
          "truncate stratigraph.threads, stratigraph.heads, stratigraph.checkpoints, stratigraph.blobs, stratigraph.writes, stratigraph.long_ids",
        );
      };
      await fc.assert(
        fc.asyncProperty(steps, fc.array(kind, { minLength: 1, maxLength: 25 }), async (before, requests) => {
          await empty();
          const memory = new MemoryTier();
          await prepared(memory, before);
          await prepared(tier, before);
          const expected: unknown[] = [];
          for (const [n, each] of requests.entries()) expected.push(await outcome(ask(memory, each, n)));
          const got: unknown[] = [];
          for (let n = 0; n < requests.length; n += together) {
            const group = requests.slice(n, n + together);
            got.push(...(await Promise.all(group.map((each, m) => outcome(ask(tier, each, n + m))))));
          }
          expect(got).toEqual(expected);
          expect(await all(tier)).toEqual(await all(memory));
          for (const [n, each] of requests.entries()) {
            const said =
              Array.isArray(expected[n]) && typeof expected[n][0] === "string"
                ? String(expected[n][0])
                : "done";
            reached.set(`${each.do} ${said}`, (reached.get(`${each.do} ${said}`) ?? 0) + 1);
          }
        }),
        { seed: 4, numRuns },
      );
    } finally {
      await pool.end();
      await database.drop();
    }
    expect(schemas).toBeGreaterThanOrEqual(numRuns);
    // The requests reach the outcomes that they are meant for.
    for (const what of [
      "append CHECKPOINT_CONFLICT",
      "append THREAD_DELETED",
      "append STALE_READ",
      "writes THREAD_DELETED",
      "writes STALE_READ",
    ])
      expect(reached.get(what) ?? 0, what).toBeGreaterThan(2);
  },
);
