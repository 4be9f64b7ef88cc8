import { allRounds, inRounds } from "../../../../test/rounds.ts";
import { MemorySaver, MemoryTier } from "@stratigraph/core";
import { expect, it, vi } from "vitest";
import { Session } from "../src/calls/session.ts";

it("a session that was taken for dead while it ran nothing is seen alive when it runs again", async () => {
  const tier = new MemoryTier();
  const [one, other] = [new Session(tier), new Session(tier)];
  const { machine, pid } = one;
  await one.during(async () => undefined);
  expect(await other.isAlive(one.session, { machine, pid })).toBe(false);
  await one.during(async () => {
    expect(await other.isAlive(one.session, { machine, pid })).toBe(true);
    expect(other.dead.has(one.session)).toBe(false);
  });
});

it("two copies of the package in one process know of each other's calls", async () => {
  const { createJournal } = await import("../src/index.ts");
  vi.resetModules();
  const copy = await import("../src/index.ts");
  expect(copy.createJournal).not.toBe(createJournal);
  const saver = new MemorySaver();
  const [one, other] = [createJournal(saver), copy.createJournal(saver, { waitFor: "1m" })];
  const config = { configurable: { thread_id: "ada" } };
  const paid: string[] = [];
  let end: (receipt: string) => void = () => undefined;
  const began = new Promise<void>((resolve) => {
    void one.run(config, { id: "pay", effects: "idempotent" }, () => {
      paid.push("one");
      resolve();
      return new Promise<string>((done) => (end = done));
    });
  });
  await began;
  const second = other.run(config, { id: "pay", effects: "idempotent" }, () => void paid.push("other"));
  // It looks for the other one's record, and finds it under way.
  await expect(
    other.resolve((await other.calls("ada"))[0]!.fingerprint, { threadId: "ada", happened: false }),
  ).rejects.toMatchObject({ code: "LOCKED" });
  // What one copy made, the other one takes.
  await expect(copy.transaction(saver, "nobody", () => 1, { journal: one as never })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  end("receipt");
  expect(await second).toBe("receipt");
  expect(paid).toEqual(["one"]);
});

it("worker threads of one process know of each other's calls by their leases", async () => {
  const tier = new MemoryTier();
  const here = new Session(tier);
  // A worker has a memory of its own: what it runs isn't known here.
  const worker = new Session(tier, { machine: `${here.machine} thread 1` });
  await worker.during(async () => {
    const known = { machine: worker.machine, pid: worker.pid };
    vi.resetModules();
    const { Session: Unknowing } = await import("../src/calls/session.ts");
    expect(await new Unknowing(tier).isAlive(worker.session, known)).toBe(true);
  });
  // Of a copy that isn't in the registry, such as a later version's: the lease tells.
  const { machine, pid } = here;
  await tier.lease("calls/unknown", "unknown", 30_000);
  expect(await here.isAlive("unknown", { machine, pid })).toBe(true);
  expect(await here.isAlive("nobody", { machine, pid })).toBe(false);
});

it.runIf(allRounds)(
  "a journal with more threads than it remembers keeps those whose calls are under way",
  async () => {
    const { createJournal } = await import("../src/index.ts");
    const journal = createJournal(new MemorySaver());
    const ends: (() => void)[] = [];
    const on = (n: number) => ({ configurable: { thread_id: `t ${n}` } });
    const pay = async (n: number, paid: string[]) =>
      await journal.run(on(n), { id: "pay", effects: "idempotent" }, async () => {
        paid.push(`t ${n}`);
        await new Promise<void>((resolve) => ends.push(resolve));
      });
    const paid: string[] = [];
    const running = Array.from({ length: 1100 }, (_, n) => pay(n, paid));
    while (paid.length < 1100) await new Promise((resolve) => setImmediate(resolve));
    // Equal calls wait for those, and run nothing. They get some turns of the event loop to do otherwise.
    const again = Array.from({ length: 1100 }, (_, n) => pay(n, paid));
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    for (const end of ends) end();
    await Promise.all([...running, ...again]);
    expect(paid).toHaveLength(1100);
  },
);

it("calls under way are made once, however many other threads the journal goes through meanwhile", async () => {
  const { createJournal } = await import("../src/index.ts");
  const saver = new MemorySaver();
  const [one, other] = [createJournal(saver), createJournal(saver)];
  const ends: (() => void)[] = [];
  const paid: number[] = [];
  const on = (thread_id: string) => ({ configurable: { thread_id } });
  const pay = async (journal: typeof one, n: number) =>
    await journal.run(on(`slow ${n}`), { id: "pay", effects: "idempotent" }, async () => {
      paid.push(n);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  const slow = Array.from({ length: 20 }, (_, n) => n);
  const running = slow.map((n) => pay(one, n));
  while (paid.length < slow.length) await new Promise((resolve) => setImmediate(resolve));
  const threads = inRounds({ few: 1100, all: 1100, soak: 100_000 });
  for (let n = 0; n < threads; n += 100)
    await Promise.all(
      Array.from(
        { length: 100 },
        async (_, i) => await one.run(on(`t ${n + i}`), { id: "pay" }, () => "paid"),
      ),
    );
  const again = [one, other].flatMap((journal) => slow.map((n) => pay(journal, n)));
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  for (const end of ends) end();
  await Promise.all([...running, ...again]);
  expect(paid).toEqual(slow);
  await one.end();
  await other.end();
}, 600_000);

it("what a thread was to note is written when it is forgotten", async () => {
  const { createJournal } = await import("../src/index.ts");
  const saver = new MemorySaver();
  const journal = createJournal(saver);
  const pay = async (thread_id: string) =>
    await journal.run({ configurable: { thread_id } }, { id: "pay" }, () => "receipt");
  await pay("first");
  // Given again, which is a note.
  await pay("first");
  for (let n = 0; n < 1000; n += 1) await pay(`t ${n}`);
  const types: string[] = [];
  for await (const { event } of createJournal(saver).trail("first")) types.push(event.type);
  expect(types).toEqual(["session", "claimed", "succeeded", "returned"]);
});
