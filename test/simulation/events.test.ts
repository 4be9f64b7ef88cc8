import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import type { TierSaver } from "@stratigraph/core";
import { events, type EventStore } from "@stratigraph/journal";
import { Bank } from "./bank.ts";
import { configOf } from "./ledger.ts";
import { simulate } from "./simulate.ts";
import { warmUp } from "./site.ts";
import type { Held, World } from "./world.ts";

beforeAll(warmUp);

/** Two processes that count, and how the first one's next append is kept from going on. */
function counters(world: World) {
  const bank = new Bank(world);
  const [ours, others] = [world.machine("ours"), world.machine("others")];
  const saver = bank.saver(others);
  const counterOf = (of: TierSaver): EventStore<number, number> =>
    events(of, (sum: number, event: number) => sum + event, { initial: 0 });
  const hold = (): Held => world.hold("append", { from: ours });
  return { ours: counterOf(bank.saver(ours)), others: counterOf(saver), saver, hold };
}

test("an event is appended to the newest ones, whatever another process appends meanwhile", async () => {
  await simulate(async (world) => {
    const { ours, others, hold } = counters(world);
    await ours.append("t", 1);
    const held = hold();
    const appending = ours.append("t", 10);
    await held.reached;
    await others.append("t", 100);
    await held.release();
    expect(await appending).toMatchObject({ version: 3, state: 111 });
    expect(await others.project("t")).toMatchObject({ version: 3, state: 111 });
  });
});

test("an event whose acknowledgement was lost is there once when it is appended again by its key", async () => {
  await simulate(async (world) => {
    const { ours, hold } = counters(world);
    const held = hold();
    const first = ours.append("t", 1, { key: "request" });
    await held.arrive();
    await held.fail();
    await expect(first).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(await ours.append("t", 1, { key: "request" })).toMatchObject({ duplicate: true, state: 1 });
    expect(await ours.appendIf("t", 1, 2)).toMatchObject({ version: 2, state: 3 });
  });
});

test("an event of a late writer doesn't begin a deleted thread anew", async () => {
  await simulate(async (world) => {
    const { ours, others, saver, hold } = counters(world);
    const metadata = { source: "input", step: -1, parents: {} } as const;
    await saver.put(configOf("t"), { ...emptyCheckpoint(), id: "1" }, metadata, {});
    const held = hold();
    const appending = ours.append("t", 1);
    await held.reached;
    await saver.deleteThread("t");
    await held.release();
    await expect(appending).rejects.toMatchObject({ code: "THREAD_DELETED" });
    expect(await others.project("t")).toMatchObject({ version: 0 });
  });
});
