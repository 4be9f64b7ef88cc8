import { setImmediate as turn } from "node:timers/promises";
import { CheckpointConflictError, StratigraphError } from "@stratigraph/core";
import { Breaker } from "../src/breaker.ts";

const settings = { timeoutMs: 20, failures: 2, openForMs: 1000, maxOpenForMs: 4000 };

function opened(): {
  breaker: Breaker;
  clock: { now: number };
  fail: () => Promise<unknown>;
  work: () => Promise<unknown>;
} {
  const clock = { now: 0 };
  const breaker = new Breaker("hot", settings, () => clock.now);
  const fail = () => breaker.run(() => Promise.reject(new Error("down"))).catch((error: unknown) => error);
  const work = () => breaker.run(async () => "done").catch((error: unknown) => error);
  return { breaker, clock, fail, work };
}

test("opens after so many failures in a row, lets one call try, and waits longer every time", async () => {
  const { breaker, clock, fail, work } = opened();
  await fail();
  expect(await work()).toBe("done");
  await fail();
  expect(breaker.state).toBe("closed");
  await fail();
  expect(breaker.state).toBe("open");
  for (const waitMs of [1000, 2000, 4000, 4000]) {
    clock.now += waitMs - 1;
    expect(await work()).toMatchObject({ code: "UNAVAILABLE", cause: new Error("down") });
    clock.now += 1;
    expect(breaker.refuses).toBe(false);
    await fail();
    expect(breaker.state).toBe("open");
  }
  clock.now += 4000;
  expect(await work()).toBe("done");
  expect(breaker.state).toBe("closed");
  await fail();
  await fail();
  clock.now += 1000;
  expect(await work()).toBe("done");
});

test("while one call tries, the others are refused", async () => {
  const { breaker, clock, fail, work } = opened();
  await fail();
  await fail();
  clock.now += 1000;
  const trying = breaker.run(() => turn());
  expect(breaker.state).toBe("half-open");
  expect(await work()).toMatchObject({ code: "UNAVAILABLE" });
  await trying;
  expect(await work()).toBe("done");
});

test("silence is a failure; an error that a healthy tier answers with isn't", async () => {
  const { breaker } = opened();
  const head = { threadId: "t", namespace: "", checkpointId: "c", head: "h", expected: [] };
  for (let n = 0; n < 5; n += 1) {
    const conflict = breaker.run(() => Promise.reject(new CheckpointConflictError(head)));
    await expect(conflict).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
  }
  expect(breaker.state).toBe("closed");
  for (let n = 0; n < 2; n += 1)
    await expect(breaker.run(() => new Promise(() => undefined))).rejects.toThrow("no answer within 20 ms");
  expect(breaker.state).toBe("open");
  const unavailable = new StratigraphError("UNAVAILABLE", "no");
  const { breaker: other } = opened();
  for (let n = 0; n < 2; n += 1) await other.run(() => Promise.reject(unavailable)).catch(() => undefined);
  expect(other.state).toBe("open");
});

test("calls that fail together are one failure; older calls that fail later don't count", async () => {
  const { breaker, clock, fail, work } = opened();
  const finish: ((error?: Error) => void)[] = [];
  const underWay = (): Promise<void> =>
    new Promise((resolve, reject) =>
      finish.push((error) => (error === undefined ? resolve() : reject(error))),
    );
  const together = Array.from({ length: 30 }, () => breaker.run(underWay).catch(() => undefined));
  for (const end of finish.slice(0, 20)) end(new Error("down"));
  await Promise.all(together.slice(0, 20));
  expect(breaker.state).toBe("closed");
  await fail();
  expect(breaker.state).toBe("open");
  for (const end of finish.slice(20)) end();
  await Promise.all(together);
  expect(breaker.state).toBe("open");
  clock.now += 1000;
  expect(await work()).toBe("done");
  expect(breaker.state).toBe("closed");
});
