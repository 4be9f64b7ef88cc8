import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ObjectStore } from "../src/objectStore.ts";
import { PackTier } from "../src/index.ts";
import { FolderStore } from "../src/internal.ts";
import { Mutex } from "../src/mutex.ts";
import { put } from "./support/puts.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("one at a time per thread, in the order of asking, also after one that failed", async () => {
  const mutex = new Mutex();
  const order: string[] = [];
  const call = async (name: string, fails = false) =>
    await mutex.run("thread", async () => {
      order.push(`${name} in`);
      await Promise.resolve();
      order.push(`${name} out`);
      if (fails) throw new Error(name);
    });
  const ends = await Promise.allSettled([call("a"), call("b", true), call("c")]);
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(order).toEqual(["a in", "a out", "b in", "b out", "c in", "c out"]);
  await mutex.run("thread", () => mutex.run("another", async () => undefined));
});

test("waiting is bounded, in time and in number, and the error says that nothing was tried", async () => {
  const mutex = new Mutex({ waitMs: 30, maxWaiting: 2 });
  let letGo: () => void = () => undefined;
  const first = mutex.run("thread", () => new Promise<void>((resolve) => (letGo = resolve)));
  const tried: string[] = [];
  const wait = (name: string) => mutex.run("thread", async () => tried.push(name));
  const waiting = [wait("a"), wait("b")];
  const refused = { code: "OVERLOADED", retryable: true };
  await expect(wait("c")).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining("2 calls of this process wait") as string,
  });
  for (const one of await Promise.allSettled(waiting))
    expect(one).toMatchObject({
      reason: {
        ...refused,
        message: expect.stringMatching(/held it for 30 ms.*Nothing of this call was tried/) as string,
      },
    });
  letGo();
  await first;
  expect(tried).toEqual([]);
  await wait("d");
  expect(tried).toEqual(["d"]);
});

test("fourth in line on a slow bucket: its time begins when it is its turn", async () => {
  const path = await mkdtemp(join(tmpdir(), "stratigraph-slow-"));
  const store = new FolderStore(path);
  vi.useFakeTimers({ toFake: ["Date"] });
  // Each put takes 25 seconds by the clock.
  const slow: ObjectStore = {
    name: "slow",
    get: (...args) => store.get(...args),
    list: (...args) => store.list(...args),
    delete: (keys) => store.delete(keys),
    put: async (...args) => {
      const etag = await store.put(...args);
      vi.setSystemTime(Date.now() + 25_000);
      return etag;
    },
  };
  const tier = new PackTier(slow);
  try {
    await Promise.all([
      tier.append(put("t", "a", undefined, 10)),
      tier.append(put("t", "b", "a", 10)),
      tier.append(put("t", "c", "b", 10)),
      tier.deleteThread("t"),
    ]);
    expect((await tier.peek({ threadId: "t", namespace: "" })).head).toBeUndefined();
  } finally {
    await store.end();
    await rm(path, { recursive: true });
  }
});
