import { MemoryTier, TierSaver, type Duration } from "@stratigraph/core";
import type { Commit } from "@stratigraph/core/tier";
import { createWorkspace, type Lock, type Workspace } from "@stratigraph/workspace";
import { expect, onTestFinished, test, vi } from "vitest";

// The waiting and renewing of locks, in time that passes when the test says so.

/** Two processes on one storage, and the commits that each sends there. */
function twoProcesses(): { readonly at: Workspace[]; readonly sent: Commit[][]; answer: () => unknown } {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const shared = new MemoryTier();
  const sent: Commit[][] = [[], []];
  const processes = {
    sent,
    answer: (): unknown => undefined,
    at: sent.map((own, n) => {
      const tier = Object.create(shared) as MemoryTier;
      const { workspaces } = shared;
      const commit: typeof workspaces.commit = async (name, commits, options) => {
        own.push(...commits);
        await processes.answer();
        return await workspaces.commit(name, commits, options);
      };
      const reached = new Proxy(workspaces, {
        get: (target, name) => {
          if (name === "commit") return commit;
          const member = Reflect.get(target, name, target) as unknown;
          return typeof member === "function" ? (member.bind(target) as unknown) : member;
        },
      });
      Object.defineProperty(tier, "workspaces", { value: reached });
      return createWorkspace(new TierSaver(tier), "trip", { agent: `agent-${n}` });
    }),
  };
  return processes;
}

/** Takes a lock, and holds it until it is let go. */
async function hold(
  ws: Workspace,
  keys: string | string[],
  ttl: Duration = "30s",
): Promise<{ lock: Lock; end: () => Promise<unknown> }> {
  let finish = (): void => undefined;
  let working: Promise<unknown> | undefined;
  const lock = await new Promise<Lock>((resolve, reject) => {
    working = ws.lock(
      keys,
      { ttl },
      (held) =>
        new Promise<void>((done) => {
          finish = done;
          resolve(held);
        }),
    );
    working.catch(reject);
  });
  return {
    lock,
    end: async () => {
      finish();
      return await working;
    },
  };
}

test("of those of one process who wait for a lock, one at a time asks the storage, in the order in which they came", async () => {
  const { at, sent } = twoProcesses();
  const held = await hold(at[0]!, "a");
  const order: number[] = [];
  const waiting = Array.from({ length: 30 }, (_, n) => at[1]!.lock("a", {}, () => order.push(n)));
  await vi.advanceTimersByTimeAsync(2000);
  expect(sent[1]!.length).toBeGreaterThan(2);
  expect(sent[1]!.length).toBeLessThan(30);
  await held.end();
  await vi.advanceTimersByTimeAsync(1000);
  await Promise.all(waiting);
  expect(order).toEqual(Array.from({ length: 30 }, (_, n) => n));
});

test("who waits for two locks keeps nobody from one that is free", async () => {
  const { at } = twoProcesses();
  const held = await hold(at[1]!, "b");
  const both = at[0]!.lock(["a", "b"], {}, () => "both");
  await vi.advanceTimersByTimeAsync(100);
  expect(await at[0]!.lock("a", { waitFor: "0ms" }, () => "a")).toBe("a");
  await held.end();
  await vi.advanceTimersByTimeAsync(1000);
  expect(await both).toBe("both");
});

test("two of one process who want the same locks, named in different orders, both get them", async () => {
  const { at } = twoProcesses();
  const held = await hold(at[0]!, ["a", "b"]);
  const waiting = [["a", "b"], ["b", "a"], ["b"], ["a"]].map((keys) =>
    at[0]!.lock(keys, { waitFor: "5s" }, () => keys.join("")),
  );
  await held.end();
  await vi.advanceTimersByTimeAsync(6000);
  expect(await Promise.all(waiting)).toEqual(["ab", "ba", "b", "a"]);
});

test("who waits too long, behind one of its own process or another's, is told who holds the lock; a signal ends the waiting", async () => {
  const { at } = twoProcesses();
  const held = await hold(at[0]!, "a");
  const late = at.map((ws) => ws.lock("a", { waitFor: "1s" }, () => "mine").catch((error: unknown) => error));
  const ending = new AbortController();
  const ended = at.map((ws) => ws.lock("a", { signal: ending.signal }, () => "mine").catch(String));
  await vi.advanceTimersByTimeAsync(1500);
  for (const error of await Promise.all(late))
    expect(error).toMatchObject({
      code: "LOCKED",
      data: { keys: ["a"], held: [{ author: { agent: "agent-0" } }] },
    });
  ending.abort("enough");
  expect(await Promise.all(ended)).toEqual(["enough", "enough"]);
  await held.end();
  expect(await at[1]!.lock("a", {}, () => "next")).toBe("next");
});

test("a lock is renewed while its work runs; if the storage doesn't answer, it is lost when its time is up, no later than there", async () => {
  const processes = twoProcesses();
  const held = await hold(processes.at[0]!, "a", "1s");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(held.lock.signal.aborted).toBe(false);
  const renewed = processes.sent[0]!.length;
  let answer = (): void => undefined;
  processes.answer = () => new Promise<void>((resolve) => (answer = resolve));
  await vi.advanceTimersByTimeAsync(666);
  expect(processes.sent[0]!.length).toBeGreaterThan(renewed);
  expect(held.lock.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(334);
  expect(held.lock.signal.reason).toMatchObject({ code: "LOCK_LOST", data: { keys: ["a"] } });
  processes.answer = () => undefined;
  answer();
  const other = await processes.at[1]!.lock("a", {}, ({ token }) => token);
  expect(other).toBeGreaterThan(held.lock.token);
  await expect(held.end()).rejects.toMatchObject({ code: "LOCK_LOST" });
});

test("a lock whose answer came late ends here as early as in the storage", async () => {
  const processes = twoProcesses();
  let answer = (): void => undefined;
  let isFirst = true;
  processes.answer = () => {
    if (!isFirst) throw new Error("the storage is away");
    isFirst = false;
    return new Promise<void>((resolve) => (answer = resolve));
  };
  const holding = hold(processes.at[0]!, "a", "1s");
  await vi.advanceTimersByTimeAsync(900);
  answer();
  const { lock, end } = await holding;
  await vi.advanceTimersByTimeAsync(99);
  expect(lock.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(lock.signal.reason).toMatchObject({ code: "LOCK_LOST" });
  await expect(end()).rejects.toMatchObject({ code: "LOCK_LOST" });
});

test("work that was ended while its lock was being taken doesn't begin, and the lock is free", async () => {
  const processes = twoProcesses();
  const ending = new AbortController();
  processes.answer = () => ending.abort(new Error("enough"));
  let isBegun = false;
  const lock = processes.at[0]!.lock("a", { signal: ending.signal }, () => (isBegun = true));
  await expect(lock).rejects.toThrow("enough");
  expect(isBegun).toBe(false);
  expect(await processes.at[1]!.locks()).toEqual([]);
});

test("work that has ended in time isn't lost, however long it takes to give the lock back", async () => {
  const processes = twoProcesses();
  const { lock, end } = await hold(processes.at[0]!, "a", "1s");
  let answer = (): void => undefined;
  processes.answer = () => new Promise<void>((resolve) => (answer = resolve));
  const ended = end();
  await vi.advanceTimersByTimeAsync(2000);
  processes.answer = () => undefined;
  const next = await hold(processes.at[1]!, "a");
  expect(next.lock.token).toBeGreaterThan(lock.token);
  answer();
  await ended;
  await next.end();
});

test("a hundred who wait and watch with one signal are no leak to Node", async () => {
  const { at } = twoProcesses();
  vi.useRealTimers();
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  const ending = new AbortController();
  const held = await hold(at[1]!, "a");
  const all = Array.from({ length: 50 }, async () => {
    await at[0]!.lock("a", { signal: ending.signal }, () => {}).catch(() => {});
    for await (const _ of at[0]!.watch({ signal: ending.signal })) break;
  });
  const watching = Array.from({ length: 50 }, async () => {
    for await (const _ of at[0]!.watch({ signal: ending.signal })) break;
  });
  await new Promise((resolve) => setImmediate(resolve));
  ending.abort();
  await Promise.all([...all, ...watching]);
  await held.end();
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});
