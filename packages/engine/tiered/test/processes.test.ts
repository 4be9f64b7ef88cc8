import { join } from "node:path";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, type Consistency } from "@stratigraph/tiered";
import { waitUntil } from "../../../../test/servers/process.ts";
import { runChild } from "../../../../test/servers/children.ts";
import {
  freshDatabase,
  sharedRedis,
  type FreshDatabase,
  type SharedRedis,
} from "../../../../test/servers/shared.ts";
import { configOf, idOf, put, stepsOf, text, valueOf } from "./support.ts";
import { inRounds } from "../../../../test/rounds.ts";

const rounds = inRounds({ few: 40, all: 80, soak: 200 });
const writer = join(import.meta.dirname, "fixtures/writerChild.ts");
const cutOff = join(import.meta.dirname, "fixtures/cutOffChild.ts");

let database: FreshDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

/** A stack over the shared Redis and the database, as another process would open it. */
function open(shared: SharedRedis, consistency: Consistency): TieredSaver {
  return new TieredSaver({
    hot: redis({ url: shared.url, prefix: shared.prefix, ttl: "5m" }),
    warm: postgres({ url: database.url, schema: "stratigraph" }),
    consistency,
    conflict: "throw",
  });
}

describe.each(["verified", "trusted"] as const)("%s, on Redis and Postgres", (consistency) => {
  test("a process killed between the commit and the copy: everybody reads what was committed", async () => {
    const shared = await sharedRedis();
    const saver = open(shared, consistency);
    await saver.setup();
    await saver.deleteThread("t");
    await put(saver, "t", 1, text("one"));
    await saver.tier.idle();
    expect(await valueOf(saver, "t")).toBe(text("one"));
    const child = runChild<{ committed: boolean }>(writer, [
      database.url,
      shared.url,
      shared.prefix,
      consistency,
    ]);
    await child.message(({ committed }) => committed);
    expect((await child.kill()).signal).toBe("SIGKILL");
    const others = [saver, open(shared, consistency)];
    for (const other of others) {
      expect(await valueOf(other, "t")).toBe(text("two"));
      expect(await stepsOf(other, "t")).toEqual([2, 1]);
    }
    await put(saver, "t", 3, text("three"));
    expect(await valueOf(saver, "t")).toBe(text("three"));
    await Promise.all(others.map((other) => other.end()));
  });

  test(`two stacks racing, ${rounds} rounds: one winner each, nothing mixed`, async () => {
    const shared = await sharedRedis();
    const racers = [open(shared, consistency), open(shared, consistency)];
    await racers[0]!.setup();
    const thread = `race ${consistency}`;
    await put(racers[0]!, thread, 1, text("begin"));
    let head = 1;
    for (let round = 1; round <= rounds; round += 1) {
      // Both read first: putting on what was the head before the other one's put would be a fork on purpose.
      await Promise.all(racers.map((saver) => valueOf(saver, thread)));
      const tried = await Promise.allSettled(
        racers.map(async (saver, i) => {
          await put(saver, thread, round * 10 + i, text(`${round} by ${i}`), head);
          return i;
        }),
      );
      const won = tried.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
      expect(won).toHaveLength(1);
      head = round * 10 + won[0]!;
      const winner = await racers[won[0]!]!.getTuple(configOf(thread));
      expect(winner?.checkpoint.id).toBe(idOf(head));
      expect(winner?.checkpoint.channel_values).toEqual({ value: text(`${round} by ${won[0]}`) });
    }
    expect(await stepsOf(racers[0]!, thread)).toHaveLength(rounds + 1);
    await Promise.all(racers.map((saver) => saver.end()));
  });
});

test("trusted: a process that can't reach Redis writes: others read what was before for at most trustFor, and can't write on it", async () => {
  // On a busy machine the other process may take longer than that.
  for (const trustForMs of [4000, 16_000, 64_000]) if (await isReadMeanwhile(trustForMs)) return;
  throw new Error("nothing was read while it was trusted");
});

/** Whether something was read between the other process's write and the end of the trust. */
async function isReadMeanwhile(trustForMs: number): Promise<boolean> {
  const shared = await sharedRedis();
  const saver = new TieredSaver({
    hot: redis({ url: shared.url, prefix: shared.prefix, ttl: "5m" }),
    warm: postgres({ url: database.url }),
    consistency: "trusted",
    trustFor: `${trustForMs}ms`,
    conflict: "throw",
  });
  try {
    await saver.setup();
    const child = runChild<{ committed: unknown }>(cutOff, [database.url]);
    await child.message(() => true);
    await put(saver, "cut off", 1, text("one"));
    await saver.tier.idle();
    child.send("go");
    const { committed } = await child.message((message) => message.committed !== undefined);
    expect(committed).toBe(text("two"));
    const read: unknown[] = [];
    let conflicted = false;
    await waitUntil("what the other process wrote", async () => {
      read.push(await valueOf(saver, "cut off"));
      if (!conflicted && read.at(-1) === text("one")) {
        await expect(put(saver, "cut off", 3, text("three"), 1)).rejects.toMatchObject({
          code: "CHECKPOINT_CONFLICT",
        });
        conflicted = true;
      }
      return read.at(-1) === text("two");
    });
    expect(await child.exit).toMatchObject({ code: 0, stderr: "" });
    if (read.length === 1) return false;
    expect(new Set(read.slice(0, -1))).toEqual(new Set([text("one")]));
    expect(conflicted).toBe(true);
    return true;
  } finally {
    await saver.deleteThread("cut off");
    await saver.end();
  }
}
