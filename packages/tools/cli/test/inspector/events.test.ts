import { FaultyTier } from "@stratigraph/testing";
import { CorruptionError, MemoryTier, TierSaver } from "@stratigraph/core";
import { createInspector } from "../../src/inspector/index.ts";
import { expect, onTestFinished, test, vi } from "vitest";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { demoThreads } from "./support/demoThreads.ts";
import { serve } from "./support/serve.ts";
import { setBackTier } from "../../../../../test/setBack/setBackTier.ts";
import { Watcher, type Listener } from "../../src/serving/watcher.ts";
import { allRounds } from "../../../../../test/rounds.ts";

function watching(...threads: string[]): string {
  return `/api/_events?${new URLSearchParams(threads.map((thread): [string, string] => ["thread", thread])).toString()}`;
}

test("a page gets the revisions of its threads, each write to one, and each change of the newest thread", async () => {
  const served = await serve();
  await demoThreads(served.saver, ["ada", "a/b 🐢"], { turns: 1 });
  const events = await served.events(watching("ada", "a/b 🐢", "nobody"));
  expect(await events.next()).toEqual({ event: "storage", data: { up: true } });
  const first = [await events.next(), await events.next(), await events.next()];
  expect(first.map(({ event, data }) => [event, data["thread"], data["first"]])).toEqual([
    ["revision", "ada", true],
    ["revision", "a/b 🐢", true],
    ["revision", "nobody", true],
  ]);
  // Another saver: nothing that this process remembers tells it.
  await demoThreads(new TierSaver(served.saver.tier), ["ada"], { turns: 1 });
  const changed = await events.named("revision");
  expect(changed.data).toMatchObject({ thread: "ada" });
  const revisionOf = ({ data }: typeof changed): number => Number.parseInt(String(data["revision"]), 10);
  expect(revisionOf(changed)).toBeGreaterThan(revisionOf(first[0]!));
  expect(changed.data).not.toHaveProperty("first");
  expect(await events.named("threads")).toEqual({ event: "threads", data: {} });
  await events.close();
  await served.inspector.close();
});

test("if times are kept to the minute, a write to any thread of the newest minute is reported", async () => {
  const tier = new MemoryTier();
  const exact = tier.threads.bind(tier);
  // As PostgreSQL tells them: of one minute in an order of their own.
  tier.threads = async function* (query) {
    const all = [];
    for await (const each of exact({ ...query, limit: undefined }))
      all.push({ ...each, writtenAtMs: 60_000 });
    yield* all.sort((a, b) => (a.threadId < b.threadId ? -1 : 1)).slice(0, query.limit);
  };
  const served = await serve({ saver: new TierSaver(tier) });
  await demoThreads(served.saver, ["ada", "bob"], { turns: 1 });
  const events = await served.events(watching("ada"));
  expect((await events.named("revision")).data).toMatchObject({ thread: "ada", first: true });
  await demoThreads(new TierSaver(tier), ["bob"], { turns: 1 });
  expect(await events.named("threads")).toEqual({ event: "threads", data: {} });
  await events.close();
  await served.inspector.close();
});

test("a thread that is set back between two looks, and has as many revisions again, is reported", async () => {
  const tier = setBackTier();
  let look: (() => void) | undefined;
  const watcher = new Watcher(
    async () =>
      await new Promise((resolve) => {
        look = () => resolve(new TierSaver(tier));
      }),
    1,
  );
  const told: string[] = [];
  const listener: Listener = {
    threads: ["ada"],
    revision: (_, revision) => void told.push(revision),
    storage: () => undefined,
  };
  watcher.add(listener);
  const reported = async (count: number): Promise<void> => {
    await waitUntil("a report", async () => {
      if (told.length < count) look?.();
      return told.length === count;
    });
  };
  await demoThreads(new TierSaver(tier), ["ada"], { turns: 1 });
  const { mark } = tier;
  await demoThreads(new TierSaver(tier), ["ada"], { turns: 1 });
  await reported(1);
  const { revision } = await tier.peek({ threadId: "ada", namespace: "" });
  await tier.setBack(mark);
  await demoThreads(new TierSaver(tier), ["ada"], { turns: 1 });
  expect((await tier.peek({ threadId: "ada", namespace: "" })).revision).toBe(revision);
  await reported(2);
  watcher.remove(listener);
});

test("one look serves all listeners, and without listeners there is none", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const tier = new FaultyTier(new MemoryTier());
  const inspector = createInspector({ saver: new TierSaver(tier), pollMs: 1000 });
  const leaving = new AbortController();
  const headers = { host: "localhost", "x-stratigraph-token": inspector.token };
  for (let n = 0; n < 10; n += 1) {
    const request = new Request(`http://localhost${watching("ada")}`, { headers, signal: leaving.signal });
    expect((await inspector.fetch(request)).status).toBe(200);
  }
  await vi.advanceTimersByTimeAsync(3500);
  // At once, and after each second.
  expect([tier.count("peek"), tier.calls.length]).toEqual([4, 8]);
  leaving.abort();
  tier.reset();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(tier.calls).toEqual([]);
});

test.runIf(allRounds)("listeners and watched threads are bounded", async () => {
  const served = await serve();
  const many = Array.from({ length: 101 }, (_, n) => `thread ${n}`);
  expect((await served.get(watching(...many))).status).toBe(400);
  const listeners = await Promise.all(Array.from({ length: 32 }, () => served.events(watching("ada"))));
  const refused = await served.get(watching("ada"));
  expect([refused.status, refused.body["error"]]).toMatchObject([503, { code: "OVERLOADED" }]);
  await listeners[0]!.close();
  const again = () => served.events(watching("ada"));
  await waitUntil("a place", async () => (await again()).status === 200);
  await served.inspector.close();
});

test("a thread that can't be read doesn't keep the others from being reported", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const served = await serve({ saver: new TierSaver(tier) });
  await demoThreads(served.saver, ["ada", "damaged"], { turns: 1 });
  const damaged = new CorruptionError(
    { threadId: "damaged", namespace: "", checkpointId: "1" },
    "a head is missing",
  );
  tier.failWhen(({ method, args: [at] }) =>
    method === "peek" && (at as { threadId: string }).threadId === "damaged" ? damaged : undefined,
  );
  const events = await served.events(watching("damaged", "ada"));
  expect((await events.named("revision")).data).toMatchObject({ thread: "ada", first: true });
  await demoThreads(new TierSaver(tier.inner), ["ada"], { turns: 1 });
  expect((await events.named("revision")).data).toMatchObject({ thread: "ada" });
  expect((await served.get(watching(""))).status).toBe(400);
  const head = await fetch(`${served.origin}${watching("ada")}`, {
    method: "HEAD",
    headers: { "x-stratigraph-token": served.token },
  });
  expect(head.status).toBe(405);
  await served.inspector.close();
});

test("a storage's failure is reported once, and so is its return", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const served = await serve({ saver: new TierSaver(tier) });
  await demoThreads(served.saver, ["ada"], { turns: 1 });
  const events = await served.events(watching("ada"));
  await events.named("revision");
  tier.failNext("peek", undefined, { times: 3 });
  expect((await events.next()).data).toMatchObject({
    up: false,
    error: { message: expect.any(String) as string },
  });
  expect(await events.next()).toEqual({ event: "storage", data: { up: true } });
  await served.inspector.close();
});

test("a page that opens another stream while the storage comes back gets the news", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const served = await serve({ saver: new TierSaver(tier) });
  await demoThreads(served.saver, ["ada"], { turns: 1 });
  tier.failNext("peek", undefined, { times: 1 });
  const before = await served.events(watching("ada"));
  expect((await before.named("storage")).data).toMatchObject({ up: false });
  await before.close();
  const after = await served.events(watching("ada"));
  expect(await after.next()).toEqual({ event: "storage", data: { up: true } });
  await served.inspector.close();
});

test("an inspector with open streams and a verification under way is closed, and tells how far it got", async () => {
  const served = await serve();
  await demoThreads(served.saver, ["ada", "bob", "eve", "mel"], { turns: 1 });
  const events = await served.events(watching("ada"));
  await events.named("revision");
  const verifying = await served.events("/api/verify?rate=1", { headers: { accept: "text/event-stream" } });
  await verifying.named("progress");
  await served.inspector.close();
  await events.ended();
  expect(await verifying.named("result")).toMatchObject({ data: { complete: false } });
  await served.inspector.close();
  await expect(fetch(served.origin)).rejects.toThrow();
});

test("an inspector is closed even if a client doesn't end its connection", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const served = await serve({ saver: new TierSaver(tier) });
  const hold = tier.hold("threads");
  const headers = { "x-stratigraph-token": served.token };
  const stuck = fetch(`${served.origin}/api/threads`, { headers }).catch((error: Error) => error);
  await hold.reached;
  await served.inspector.close();
  expect(await stuck).toBeInstanceOf(Error);
  hold.release();
});
