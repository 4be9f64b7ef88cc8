import { MemoryTier, TierSaver } from "@stratigraph/core";
import { withThread, type HeldThread } from "@stratigraph/service";
import type { Machine } from "./machine.ts";
import { simulate } from "./simulate.ts";
import type { World } from "./world.ts";

/** Two processes over one storage that keeps locks. */
function processes(world: World): { a: Machine; ofA: TierSaver; b: Machine; ofB: TierSaver } {
  const [a, b, server] = ["a", "b", "server"].map((name) => world.machine(name)) as [
    Machine,
    Machine,
    Machine,
  ];
  const tier = new MemoryTier();
  const [ofA, ofB] = [a, b].map((process) => new TierSaver(world.connect(process, server, tier))) as [
    TierSaver,
    TierSaver,
  ];
  return { a, ofA, b, ofB };
}

/** Takes the lock of thread "t", and keeps it until `finish` is called. */
function holding(machine: Machine, saver: TierSaver) {
  let finish!: () => void;
  let hold!: (held: HeldThread) => void;
  const held = new Promise<HeldThread>((resolve) => (hold = resolve));
  const ended = machine.run(() =>
    withThread(saver, "t", async (thread) => {
      hold(thread);
      await new Promise<void>((resolve) => (finish = resolve));
    }),
  );
  return { held, ended, finish: () => finish() };
}

test("a prolongation that arrives after the lock was given back keeps nobody waiting", async () => {
  await simulate(async (world) => {
    const { a, ofA, b, ofB } = processes(world);
    const { held, ended, finish } = holding(a, ofA);
    await held;
    const prolonging = world.hold("lock", { from: a });
    await prolonging.reached;
    finish();
    await ended;
    await prolonging.release();
    await world.pass(1);
    expect(await b.run(() => withThread(ofB, "t", async () => "mine", { waitFor: "0ms" }))).toBe("mine");
  });
});

test("a lock ends here before it ends in the storage, however late the storage's answer came", async () => {
  await simulate(async (world) => {
    const { a, ofA, b, ofB } = processes(world);
    const taking = world.hold("lock", { from: a });
    const { held, ended, finish } = holding(a, ofA);
    await taking.arrive();
    await world.pass(8000);
    await taking.release();
    const { signal, token } = await held;
    // From now on the storage doesn't hear of it.
    for (let n = 0; n < 3; n += 1) void world.hold("lock", { from: a });
    const next = await b.run(() =>
      withThread(ofB, "t", async (mine) => ({ token: mine.token, lost: signal.aborted })),
    );
    expect(next).toEqual({ token: expect.any(Number), lost: true });
    expect(next.token).toBeGreaterThan(token);
    expect(signal.reason).toMatchObject({ code: "LOCK_LOST" });
    finish();
    await ended;
  });
});

test("a process that dies holds its thread for its lease, and no longer", async () => {
  await simulate(async (world) => {
    const { a, ofA, b, ofB } = processes(world);
    await holding(a, ofA).held;
    await world.pass(60_000);
    a.kill();
    const beganMs = world.clock.nowMs;
    await b.run(() => withThread(ofB, "t", async () => undefined));
    expect(world.clock.nowMs - beganMs).toBeGreaterThan(20_000);
    expect(world.clock.nowMs - beganMs).toBeLessThanOrEqual(30_500);
  });
});

test("a run that gave up waiting for another one of its process leaves the turn to the next", async () => {
  await simulate(async (world) => {
    const { a, ofA } = processes(world);
    const { held, ended, finish } = holding(a, ofA);
    await held;
    const run = (waitFor: `${number}s`) => a.run(() => withThread(ofA, "t", async () => "mine", { waitFor }));
    const [impatient, patient] = [run("1s"), run("40s")];
    await expect(impatient).rejects.toMatchObject({ code: "THREAD_BUSY" });
    finish();
    await ended;
    expect(await patient).toBe("mine");
  });
});

test("a run that is ended while the lock is taken doesn't begin, and gives it back", async () => {
  await simulate(async (world) => {
    const { a, ofA, b, ofB } = processes(world);
    const ending = new AbortController();
    const taking = world.hold("lock", { from: a });
    let began = false;
    const run = a.run(() => withThread(ofA, "t", async () => (began = true), { signal: ending.signal }));
    await taking.reached;
    ending.abort(new Error("nobody waits for it"));
    await taking.release();
    await expect(run).rejects.toThrow("nobody waits for it");
    expect(began).toBe(false);
    expect(await b.run(() => withThread(ofB, "t", async () => "mine", { waitFor: "0ms" }))).toBe("mine");
  });
});
