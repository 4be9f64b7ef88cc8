import { rmSync } from "node:fs";
import { join } from "node:path";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { runChild } from "../../../../test/servers/children.ts";
import { gone, named } from "../../../../test/servers/namedConnections.ts";
import { startPostgres } from "../../../../test/servers/postgres.ts";
import { embeddedFolder } from "../../../../test/servers/shared.ts";
import { at } from "./support/checkpoints.ts";
import type { KillMessage } from "./support/killChild.ts";
import { random } from "./support/random.ts";
import { linesOf, stepsGraph } from "./support/stepsGraph.ts";
import { allRounds, inRounds } from "../../../../test/rounds.ts";

const script = join(import.meta.dirname, "support/killChild.ts");
const steps = 40;
const kills = inRounds({ few: 4, all: 12, soak: 50 });

/**
 * Starts a run in a child process and kills it once that many puts were acknowledged: it is anywhere in what follows then. Returns what
 * was acknowledged.
 */
async function killedRun(where: readonly [string, string], threadId: string, after: number, n: number) {
  const durability = n % 2 === 0 ? "sync" : "async";
  const child = runChild<KillMessage>(script, [...where, threadId, String(steps), durability]);
  let puts = 0;
  await child.message(({ type }) => type === "put" && ++puts >= after);
  const { stderr } = await child.kill();
  expect(stderr).toBe("");
  return child.messages;
}

/** A number of puts in the first nine tenths of a run. */
const anyStep = (next: () => number): number => 1 + Math.floor(next() * steps * 0.9);

/** Every acknowledged checkpoint and write is there; then the run is resumed to its end. */
async function expectAllThere(saver: PostgresSaver, threadId: string, messages: readonly KillMessage[]) {
  const stored = new Map<string, CheckpointTuple>();
  for await (const tuple of saver.list(at(threadId))) stored.set(tuple.checkpoint.id, tuple);
  for (const message of messages) {
    if (message.type === "end") continue;
    const tuple = stored.get(message.id);
    if (message.type === "put") {
      expect(tuple?.checkpoint.channel_values["log"]).toEqual(message.log);
    } else if (tuple !== undefined) {
      const found = tuple.pendingWrites!.filter(([taskId]) => taskId === message.taskId);
      expect(found.map(([, channel]) => channel)).toEqual(expect.arrayContaining(message.channels));
    }
  }
  const acked = messages.filter(({ type }) => type === "put");
  const head = (await saver.getTuple(at(threadId)))!;
  expect(head.checkpoint.id >= (acked.at(-1) as { id: string }).id).toBe(true);

  const ran: number[] = [];
  const graph = stepsGraph(saver, steps, {
    inStep: async (step) => {
      ran.push(step);
    },
  });
  const config = { configurable: { thread_id: threadId }, recursionLimit: 1000 };
  const resumed = await graph.invoke(null, config);
  expect(resumed).toEqual({ log: linesOf(steps), step: steps });
  expect((await graph.getState(config)).values).toEqual(resumed);
  // No acknowledged step was repeated.
  const done = (head.checkpoint.channel_values["step"] as number | undefined) ?? 0;
  expect(ran.every((step) => step >= done)).toBe(true);
  expect(await saver.conflicts(threadId)).toEqual([]);
  return { ended: done === steps, done };
}

test.skipIf(!available.postgres)(
  `a process killed at ${kills} random moments loses nothing it was told was stored, and its run resumes`,
  async () => {
    const server = await startPostgres({ fsync: true });
    const saver = PostgresSaver.fromConnString(server.url);
    const next = random(20251120);
    try {
      await saver.setup();
      const moments = Array.from({ length: kills }, () => anyStep(next));
      const midRun: number[] = [];
      const worker = async () => {
        for (let n = kills - moments.length; moments.length > 0; n = kills - moments.length) {
          const after = moments.shift()!;
          const threadId = `run ${n}`;
          const name = `killed-${n}`;
          const messages = await killedRun(["url", named(server.url, name)], threadId, after, n);
          await gone(server.url, name);
          const { ended, done } = await expectAllThere(saver, threadId, messages);
          if (!ended) midRun.push(done);
        }
      };
      await Promise.all([worker(), worker(), worker()]);
      // Kills after the end of a run would prove nothing.
      expect(midRun.length).toBeGreaterThan(kills * 0.3);
      expect(new Set(midRun).size).toBeGreaterThan(kills * 0.16);
    } finally {
      await saver.end();
      await server.stop();
    }
  },
);

test.runIf(allRounds)(
  "the same embedded in a folder: the lock of a killed process is taken over, a living one's is respected",
  async () => {
    const folder = await embeddedFolder();
    const next = random(7);
    let midRun = 0;
    try {
      const first = PostgresSaver.embedded(folder);
      await first.setup();
      await first.end();
      for (let n = 0; n < inRounds({ few: 2, all: 4 }); n += 1) {
        const threadId = `run ${n}`;
        const messages = await killedRun(["folder", folder], threadId, anyStep(next), n);
        const saver = PostgresSaver.embedded(folder);
        const { ended } = await expectAllThere(saver, threadId, messages);
        if (!ended) midRun += 1;
        if (n === 0) {
          const other = PostgresSaver.embedded(folder);
          const error: unknown = await other.getTuple(at("t")).catch((caught: unknown) => caught);
          expect(error).toMatchObject({ code: "LOCKED", data: { folder, pid: process.pid } });
          expect(String(error)).toContain(`This process (${process.pid}) has folder`);
          await other.end();
        }
        await saver.end();
      }
      expect(midRun).toBeGreaterThan(0);

      const child = runChild<KillMessage>(script, ["folder", folder, "live", "100000", "sync"]);
      await child.message(({ type }) => type === "put");
      const second = PostgresSaver.embedded(folder);
      const refused = { code: "LOCKED", data: { folder, pid: child.pid } };
      await expect(second.setup()).rejects.toMatchObject(refused);
      await expect(second.getTuple(at("live"))).rejects.toMatchObject(refused);
      await child.kill();
      expect(await second.getTuple(at("live"))).toBeDefined();
      await second.end();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
