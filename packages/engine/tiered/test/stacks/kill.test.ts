import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MemorySaver } from "@langchain/langgraph";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, type Consistency } from "@stratigraph/tiered";
import { runChild } from "../../../../../test/servers/children.ts";
import { gone, named } from "../../../../../test/servers/namedConnections.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import type { KillMessage } from "./support/killChild.ts";
import { stepsGraph } from "./support/stepsGraph.ts";
import { inRounds } from "../../../../../test/rounds.ts";

// A process killed anywhere in a run through redis>postgres: another one, which read the thread before, resumes the run.

const script = join(import.meta.dirname, "support/killChild.ts");
const steps = 30;
const kills = inRounds({ few: 3, all: 6, soak: 12 });
const never = "0";
const trustForMs = 2000;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let shared: Awaited<ReturnType<typeof sharedRedis>>;
let reference: unknown;
const savers = new Map<Consistency, TieredSaver>();

beforeAll(async () => {
  [database, shared] = await Promise.all([freshDatabase(), sharedRedis()]);
  for (const consistency of ["verified", "trusted"] as const) {
    const saver = new TieredSaver({
      hot: redis({ ...shared, ttl: "5m" }),
      warm: postgres({ url: database.url }),
      consistency,
      ...(consistency === "trusted" ? { trustFor: `${trustForMs}ms` as const } : {}),
    });
    await saver.setup();
    savers.set(consistency, saver);
  }
  reference = await stepsGraph(new MemorySaver(), steps).invoke({ log: [] }, configOf("reference"));
});

afterAll(async () => {
  for (const saver of savers.values()) await saver.end();
  await database.drop();
});

function configOf(threadId: string, checkpointId?: string) {
  const id = checkpointId === undefined ? {} : { checkpoint_id: checkpointId };
  return { configurable: { thread_id: threadId, ...id }, recursionLimit: 1000 };
}

function start(threadId: string, consistency: Consistency, cutAt: string) {
  const { url, prefix } = shared;
  const args = [threadId, consistency, String(steps), cutAt, named(database.url, threadId), url, prefix];
  return runChild<KillMessage>(script, args);
}

/** Everything acknowledged is there, and the run goes on from it to the state that MemorySaver has. Returns its steps. */
async function expectResumes(saver: TieredSaver, threadId: string, acked: readonly KillMessage[]) {
  const head = (await saver.getTuple(configOf(threadId)))!;
  // One more may be committed whose acknowledgement didn't reach us.
  expect(head.checkpoint.id >= acked.at(-1)!.id).toBe(true);
  for (const { id, log } of acked)
    expect((await saver.getTuple(configOf(threadId, id)))?.checkpoint.channel_values["log"]).toEqual(log);
  const ran: number[] = [];
  const graph = stepsGraph(saver, steps, (step) => ran.push(step));
  expect(await graph.invoke(null, configOf(threadId))).toEqual(reference);
  expect((await graph.getState(configOf(threadId))).values).toEqual(reference);
  expect(await saver.conflicts(threadId)).toEqual([]);
  // Nothing that was acknowledged was done again. The step under way may have stored what it wrote.
  const done = (head.checkpoint.channel_values["step"] as number | undefined) ?? 0;
  const left = Array.from({ length: steps - done }, (_, i) => done + i);
  expect([left, left.slice(1)]).toContainEqual(ran);
  return done;
}

test(`killed at ${kills} moments: nothing acknowledged is lost, and the run resumes`, async () => {
  const stopped: number[] = [];
  const kill = async (n: number): Promise<void> => {
    const consistency = n % 2 === 0 ? "verified" : "trusted";
    const threadId = `killed ${n}`;
    const child = start(threadId, consistency, never);
    const saver = savers.get(consistency)!;
    await child.message(() => true);
    // A reader with a copy of its own, which must not be believed later.
    await saver.getTuple(configOf(threadId));
    // It is anywhere in what follows then.
    let puts = 0;
    await child.message(() => ++puts >= 2 + (n * steps * 0.8) / kills);
    expect((await child.kill()).stderr).toBe("");
    await gone(database.url, threadId);
    // The reader's copy may have come between the killed process's invalidation and its commit: it is believed for that long.
    if (consistency === "trusted") await sleep(trustForMs);
    stopped.push(await expectResumes(saver, threadId, child.messages));
  };
  for (let n = 0; n < kills; n += 3) await Promise.all([kill(n), kill(n + 1), kill(n + 2)]);
  // Kills that hit nothing prove nothing.
  expect(stopped.filter((done) => done < steps).length).toBeGreaterThan(kills / 2 - 1);
  expect(new Set(stopped).size).toBeGreaterThan(Math.floor(kills / 4));
}, 180_000);

test.each(["verified", "trusted"] as const)(
  "%s: killed between the commit in Postgres and the copy in Redis: the next reader sees the commit",
  async (consistency) => {
    const threadId = `cut ${consistency}`;
    const child = start(threadId, consistency, "10");
    await child.message(({ cut }) => cut);
    await child.kill();
    const acked = child.messages;
    expect(acked).toHaveLength(10);
    const redisAlone = redis(shared);
    const inRedis = await redisAlone.peek({ threadId, namespace: "" });
    await redisAlone.end();
    expect(inRedis.head).toBe(acked[8]!.id);
    // Redis has the last but one as its head; under "trusted" nobody may believe that.
    expect(inRedis.copy).toBeUndefined();
    expect((await savers.get(consistency)!.getTuple(configOf(threadId)))?.checkpoint.id).toBe(acked[9]!.id);
    await expectResumes(savers.get(consistency)!, threadId, acked);
  },
);
