import { join } from "node:path";
import { PostgresSaver } from "@stratigraph/postgres";
import { withThread } from "@stratigraph/service";
import { expect, test } from "vitest";
import { runChild } from "../../../../test/servers/children.ts";
import { suspend } from "../../../../test/servers/suspend.ts";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { configOf, nextOf } from "./support/checkpoints.ts";
import type { LockMessage } from "./support/lockChild.ts";
import { allRounds } from "../../../../test/rounds.ts";

// What becomes of a lock whose holder dies, or is suspended for longer than its lease.

const script = join(import.meta.dirname, "support/lockChild.ts");
let database: FreshDatabase;
let saver: PostgresSaver;

beforeEach(async () => {
  database = await freshDatabase();
  saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
});

afterEach(async () => {
  await saver.end();
  await database.drop();
});

async function put(value: string): Promise<void> {
  const { config, checkpoint, metadata } = nextOf(await saver.getTuple(configOf("t")), value);
  await saver.put(config, checkpoint, metadata, { value: checkpoint.channel_versions["value"]! });
}

async function holdingChild() {
  const child = runChild<LockMessage>(script, [database.url]);
  const held = await child.message(({ type }) => type === "held");
  return { child, token: held.type === "held" ? held.token : 0 };
}

test("a holder that is killed is told to others while its lease lasts, and taken over after it", async () => {
  await put("first");
  const { child, token } = await holdingChild();
  await child.kill();
  await expect(withThread(saver, "t", async () => undefined, { waitFor: "0ms" })).rejects.toMatchObject({
    code: "THREAD_BUSY",
    data: { holder: "the child" },
  });
  const mine = await withThread(saver, "t", async (held) => held.token, { waitFor: "20s" });
  expect(mine).toBeGreaterThan(token);
});

test.runIf(allRounds)(
  "a holder that was suspended beyond its lease wakes up to a conflict: it overwrites nothing",
  async () => {
    await put("first");
    const { child, token } = await holdingChild();
    suspend(child.pid);
    await withThread(
      saver,
      "t",
      async (held) => {
        expect(held.token).toBeGreaterThan(token);
        await put("of who took over");
      },
      { waitFor: "20s" },
    );
    child.send("go on");
    process.kill(child.pid, "SIGCONT");
    const outcome = await child.message(({ type }) => type === "put");
    expect(outcome).toMatchObject({ outcome: "CHECKPOINT_CONFLICT" });
    expect(await child.exit).toMatchObject({ code: 0, stderr: "" });
    const head = await saver.getTuple(configOf("t"));
    expect(head?.checkpoint.channel_values).toEqual({ value: "of who took over" });
  },
);
