import { AsyncResource } from "node:async_hooks";
import { MemoryTier } from "@stratigraph/core";
import { setTimeout as sleep } from "node:timers/promises";
import { explore, simulate } from "./simulate.ts";

test("time passes only where everybody waits for it", async () => {
  await simulate(async (world) => {
    const beganMs = Date.now();
    const order: string[] = [];
    setTimeout(() => order.push("an hour"), 3_600_000);
    void sleep(60_000).then(() => order.push("a minute"));
    setInterval(() => order.push("half an hour"), 1_800_000);
    await world.pass(3_600_001);
    expect(order).toEqual(["a minute", "half an hour", "an hour", "half an hour"]);
    expect(Date.now() - beganMs).toBe(3_600_001);
    expect(performance.now()).toBe(3_600_001);
    expect(new Date().getTime()).toBe(Date.now());
  });
  expect(Date.now()).toBeGreaterThan(Date.UTC(2026, 0, 7));
});

test("other code of the process keeps Node's timers and clocks", async () => {
  const beganMs = Date.now();
  // The resource keeps the context of before: it stands for what another test file left running.
  const other = new AsyncResource("another test");
  let fired: Promise<number> | undefined;
  await simulate(async (world) => {
    fired = other.runInAsyncScope(() => new Promise((resolve) => setTimeout(() => resolve(Date.now()), 5)));
    other.runInAsyncScope(() => clearTimeout(setTimeout(() => expect.unreachable(), 5)));
    await world.pass(1);
  });
  expect(await fired).toBeGreaterThanOrEqual(beganMs);
});

test("each machine has a wall clock of its own", async () => {
  await simulate(async (world) => {
    const ahead = world.machine("ahead");
    ahead.clockAheadMs = 5000;
    expect(ahead.run(() => Date.now()) - Date.now()).toBe(5000);
    // Also behind a call, and in timers.
    const seen = ahead.run(async () => {
      await sleep(1000);
      return Date.now();
    });
    expect((await seen) - Date.now()).toBe(5000);
    expect(await ahead.run(() => Promise.resolve().then(() => performance.now()))).toBe(performance.now());
  });
});

test("a killed process does nothing any more, what it sent may arrive, and a suspended one goes on later", async () => {
  await simulate(async (world) => {
    const [a, b, server] = ["a", "b", "server"].map((name) => world.machine(name)) as [
      never,
      never,
      never,
    ] as [
      ReturnType<typeof world.machine>,
      ReturnType<typeof world.machine>,
      ReturnType<typeof world.machine>,
    ];
    const shared = server.run(() => new MemoryTier());
    const did: string[] = [];
    const held = world.hold("deleteThread", { from: a });
    void a.run(async () => {
      await world.connect(a, server, shared).deleteThread("t");
      did.push("a was answered");
    });
    a.run(() => setTimeout(() => did.push("a's timer"), 10));
    const call = await held.reached;
    a.kill();
    await held.release();
    b.suspend();
    b.run(() => setTimeout(() => did.push("b's timer"), 10));
    await world.pass(1000);
    expect(call.state).toBe("executed");
    expect(did).toEqual([]);
    b.resume();
    await world.pass(1);
    expect(did).toEqual(["b's timer"]);
  });
});

test("a schedule that fails is shortened, and told with its seed", async () => {
  const broken = async (): Promise<void> => {
    await explore(
      async (world) => {
        const [a, server] = [world.machine("a"), world.machine("server")];
        const tier = world.connect(
          a,
          server,
          server.run(() => new MemoryTier()),
        );
        await a.run(async () => {
          for (let n = 0; n < 5; n += 1) await tier.peek({ threadId: `t${n}`, namespace: "" });
        });
      },
      { schedules: 500, faults: 1 },
    );
  };
  const error = await broken().then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  expect(error?.message).toContain("seed: 1");
  expect(error?.message).toMatch(/a: server\.peek\(t\d\) (is refused|loses its answer)/);
  // One choice is enough: the first call is refused.
  expect(error?.message).toMatch(/Counterexample: \[\[\d+\]\]/);
});

test("thousands of schedules: a lock's tokens rise with each holder, whatever is lost or late", async () => {
  let holds = 0;
  await explore(
    async (world) => {
      const server = world.machine("server");
      const tier = server.run(() => new MemoryTier());
      const tokens: number[] = [];
      const processes = ["a", "b"].map((name) => world.machine(name));
      await Promise.all(
        processes.map(async (process) => {
          const mine = world.connect(process, server, tier);
          await process.finish(async () => {
            try {
              const { held, token } = await mine.lock("l", process.name, 1000);
              if (!held) return;
              tokens.push(token);
              await mine.unlock("l", process.name);
            } catch {
              // Refused, or its answer was lost.
            }
          });
        }),
      );
      holds += tokens.length;
      expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    },
    { schedules: 3000, faults: 1, choices: 20 },
  );
  expect(holds).toBeGreaterThan(1000);
});

test("what never ends is told", async () => {
  await expect(simulate(() => new Promise(() => undefined))).rejects.toThrow("nothing can happen any more");
});
