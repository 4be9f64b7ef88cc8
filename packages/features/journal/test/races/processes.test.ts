import { setTimeout as sleep } from "node:timers/promises";
import { createCheckpointer } from "stratigraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inRounds } from "../../../../../test/rounds.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { createJournal } from "../../src/index.ts";
import { begins, payingGraph } from "./payingGraph.ts";
import { Racer, type Place } from "./racer.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let checkpointer: Awaited<ReturnType<typeof createCheckpointer>>;
const racers: Racer[] = [];

beforeAll(async () => {
  database = await freshDatabase();
  checkpointer = await createCheckpointer({ postgres: database.url });
});

afterAll(async () => {
  await Promise.all(racers.map(({ child }) => child.kill()));
  await checkpointer?.end();
  await database?.drop();
});

async function start(place: Omit<Place, "url"> = {}): Promise<Racer> {
  const racer = await Racer.start({ url: database.url, ...place });
  racers.push(racer);
  return racer;
}

async function eventsOf(thread: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { event } of createJournal(checkpointer).trail(thread)) types.push(event.type);
  return types;
}

async function expectWhole(thread: string): Promise<void> {
  expect(await createJournal(checkpointer).verify(thread)).toMatchObject({ ok: true });
}

describe("two processes", () => {
  it.each(["async", "sync"] as const)(
    "that go on with one thread pay once, and both get the receipts, durability %s",
    async (durability) => {
      const thread = `shared ${durability}`;
      const journal = createJournal(checkpointer);
      const { graph } = payingGraph(journal, checkpointer, () => Promise.reject(new Error("not here")));
      const config = { configurable: { thread_id: thread }, durability };
      await graph.invoke(begins, { ...config, interruptBefore: ["tools"] });
      const [a, b] = await Promise.all([start(), start()]);
      const ends = await Promise.all([a, b].map((racer) => racer.do({ do: "resume", thread, durability })));
      expect([...a.paid, ...b.paid].toSorted()).toEqual([5, 6]);
      const receipts = [expect.stringMatching(/^5 paid/), expect.stringMatching(/^6 paid/)];
      expect(ends[0]).toEqual(["pay", ...receipts, "done"]);
      expect(ends[1]).toEqual(ends[0]);
      await expectWhole(thread);
      expect((await eventsOf(thread)).filter((type) => type === "succeeded")).toHaveLength(2);
    },
  );

  it("that make a call at the same time make it once: the second one waits for the first one's result", async () => {
    const [a, b] = await Promise.all([start(), start()]);
    const first = a.do({ do: "pay", thread: "waits", amounts: [5], held: true });
    await a.paying(5);
    const second = b.do({ do: "pay", thread: "waits", amounts: [5] });
    await sleep(300);
    a.goOn();
    expect(await second).toEqual(await first);
    expect(b.paid).toEqual([]);
  });

  it("of which one is killed in the call: the other one on the same machine knows at once that nobody knows", async () => {
    // The lease would last for longer than the test.
    const [a, b] = await Promise.all([start({ leaseMs: 600_000 }), start()]);
    void a.do({ do: "pay", thread: "killed", amounts: [5], held: true }).catch(() => undefined);
    await a.paying(5);
    const second = b.do({ do: "pay", thread: "killed", amounts: [5] });
    await sleep(300);
    await a.child.kill();
    expect(await second).toEqual(["AMBIGUOUS_OUTCOME"]);
    expect(b.paid).toEqual([]);
  });
});

describe("a process on another machine", () => {
  const leaseMs = 1500;

  it.each(inRounds({ few: [3_600_000], all: [0, 3_600_000, -3_600_000] }))(
    "that is killed in a call is noticed when its lease ends, with a clock that is %i ms wrong",
    async (clockMs) => {
      const thread = `far ${clockMs}`;
      const [a, b] = await Promise.all([
        start({ machine: "far away", leaseMs, clockMs }),
        start({ leaseMs }),
      ]);
      void a.do({ do: "pay", thread, amounts: [5], held: true }).catch(() => undefined);
      await a.paying(5);
      let ended = false;
      const second = b.do({ do: "pay", thread, amounts: [5] }).finally(() => (ended = true));
      // It is alive for longer than a lease, and says so.
      await sleep(2 * leaseMs);
      expect(ended).toBe(false);
      await a.child.kill();
      expect(await second).toEqual(["AMBIGUOUS_OUTCOME"]);
      expect(b.paid).toEqual([]);
    },
  );

  it("that is suspended in a call and wakes when it was taken over: its record is late, and it gets the other one's result", async () => {
    const thread = "late";
    const [a, b] = await Promise.all([start({ machine: "far away", leaseMs }), start({ leaseMs })]);
    const first = a.do({ do: "pay", thread, amounts: [5], held: true });
    await a.paying(5);
    a.signal("SIGSTOP");
    // Somebody looked and didn't find the payment, which is true until the process wakes.
    const second = await b.do({ do: "pay", thread, amounts: [5], reconciled: { happened: false } });
    expect(b.paid).toEqual([5]);
    a.signal("SIGCONT");
    a.goOn();
    expect(await first).toEqual(second);
    expect((await eventsOf(thread)).filter((type) => type !== "session" && type !== "returned")).toEqual([
      "claimed",
      "resolved",
      "claimed",
      "succeeded",
      "late",
    ]);
    await expectWhole(thread);
  });
});

it("a process that is suspended between its claim and its call, and taken over, doesn't make the call when it wakes", async () => {
  const thread = "asleep";
  const leaseMs = 1500;
  const [a, b] = await Promise.all([
    start({ machine: "far away", leaseMs, slowClaim: true }),
    start({ leaseMs }),
  ]);
  const first = a.do({ do: "pay", thread, amounts: [5] });
  await a.claimed();
  a.signal("SIGSTOP");
  const second = await b.do({ do: "pay", thread, amounts: [5], reconciled: { happened: false } });
  a.signal("SIGCONT");
  a.goOn();
  expect(await first).toEqual(second);
  expect([a.paid, b.paid]).toEqual([[], [5]]);
});

it("twenty processes with many calls on one thread lose no entry, and pay each amount once", async () => {
  const count = inRounds({ few: 4, all: 8, soak: 20 });
  const amounts = Array.from({ length: inRounds({ few: 40, all: 80, soak: 200 }) }, (_, n) => n);
  const all = await Promise.all(Array.from({ length: count }, () => start()));
  const ends = await Promise.all(
    all.map((racer, n) => {
      // Each begins at another amount, so that they meet in different calls.
      const from = Math.floor((n * amounts.length) / count);
      const order = [...amounts.slice(from), ...amounts.slice(0, from)];
      return racer
        .do({ do: "pay", thread: "many", amounts: order, atOnce: 8 })
        .then((answers) => new Map(order.map((amount, at) => [amount, answers[at]])));
    }),
  );
  expect(all.flatMap(({ paid }) => paid).toSorted((one, other) => one - other)).toEqual(amounts);
  for (const end of ends)
    for (const amount of amounts) expect([amount, end.get(amount)]).toEqual([amount, ends[0]!.get(amount)]);
  await Promise.all(all.map((racer) => racer.end()));
  await expectWhole("many");
  const types = await eventsOf("many");
  expect(types.filter((type) => type === "claimed")).toHaveLength(amounts.length);
  expect(types.filter((type) => type === "succeeded")).toHaveLength(amounts.length);
});
