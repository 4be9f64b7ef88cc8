import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createWorkspace, type Message } from "@stratigraph/workspace";
import { expect, onTestFinished, test, vi } from "vitest";

/** A workspace, how far its subscriber "quiet" has stored that it came, and when somebody who follows its log has seen all of it. */
function open() {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const tier = new MemoryTier();
  const ws = createWorkspace(new TierSaver(tier), "trip");
  const stored = async (): Promise<number> => {
    const namespace = ["", "trip", "", "offsets", "topics", "tasks"];
    const [item] = await tier.items.read([{ namespace, key: "quiet" }]);
    return item?.version ?? 0;
  };
  const looked = async (): Promise<void> => {
    const { version } = await tier.workspaces.log("trip", { prefixes: [[]], before: 0, limit: 1 });
    const log = tier.workspaces.log.bind(tier.workspaces);
    await new Promise<void>((resolve) => {
      tier.workspaces.log = async (name, query) => {
        const page = await log(name, query);
        if (page.version === version) resolve();
        return page;
      };
    });
    tier.workspaces.log = log;
    // What follows from the look asks nobody else.
    for (let turns = 0; turns < 10; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { tier, ws, topic: ws.topic("tasks"), stored, looked };
}

test("a subscriber that has nothing to do stores now and then how far it came: what is trimmed until there is no loss for it", async () => {
  const { ws, topic, stored, looked } = open();
  await topic.publish({ n: 1 });
  const dies = topic.subscribe("quiet");
  const { value: first } = (await dies.next()) as { value: Message };
  await first.ack();
  void dies.next();
  const acknowledged = await stored();
  for (let n = 0; (await stored()) === acknowledged; n += 1) {
    vi.advanceTimersByTime(60_000);
    await ws.put(["plans"], "hotel", { n });
    await looked();
  }
  // It is never ended, like that of a process that was killed.
  await ws.trim(await ws.version(), { keep: "0ms" });
  await topic.publish({ n: 2 });
  const next = topic.subscribe("quiet");
  expect((await next.next()).value).toMatchObject({ body: { n: 2 } });
  await next.return(undefined);
});

test("one that ends does so too, and one that missed messages is told", async () => {
  const { ws, topic, stored, looked } = open();
  await topic.publish({ n: 1 });
  const ending = new AbortController();
  const ends = topic.subscribe("quiet", { signal: ending.signal });
  const { value: first } = (await ends.next()) as { value: Message };
  await first.ack();
  const acknowledged = await stored();
  const waiting = ends.next();
  await ws.put(["plans"], "hotel", {});
  await looked();
  ending.abort();
  await waiting;
  expect(await stored()).toBeGreaterThan(acknowledged);
  await ws.trim(await ws.version(), { keep: "0ms" });
  const again = topic.subscribe("quiet");
  const second = again.next();
  await topic.publish({ n: 2 });
  expect((await second).value).toMatchObject({ body: { n: 2 } });
  await again.return(undefined);
  await topic.publish({ n: 3 });
  await ws.trim((await ws.version()) + 1, { keep: "0ms" });
  await expect(topic.subscribe("quiet").next()).rejects.toMatchObject({ code: "VERSION_GONE" });
});

test("what isn't acknowledged comes again, however long ago it was given", async () => {
  const { ws, topic, looked } = open();
  for (const n of [1, 2]) await topic.publish({ n });
  const lazy = topic.subscribe("quiet");
  const { value: first } = (await lazy.next()) as { value: Message };
  await first.ack();
  await lazy.next();
  const waiting = lazy.next();
  for (let n = 0; n < 3; n += 1) {
    vi.advanceTimersByTime(60_000);
    await ws.put(["plans"], "hotel", { n });
    await looked();
  }
  const again = topic.subscribe("quiet");
  expect((await again.next()).value).toMatchObject({ body: { n: 2 } });
  await again.return(undefined);
  await topic.publish({ n: 3 });
  await waiting;
  await lazy.return(undefined);
});

test("what was passed in a log that is gone isn't stored in the one that begins anew", async () => {
  const { tier, ws, topic, stored, looked } = open();
  await topic.publish({ n: 1 });
  const dies = topic.subscribe("quiet");
  const { value: first } = (await dies.next()) as { value: Message };
  await first.ack();
  const waiting = dies.next();
  await ws.put(["plans"], "hotel", {});
  await looked();
  const acknowledged = await stored();
  // As after a restored backup.
  const log = tier.workspaces.log.bind(tier.workspaces);
  tier.workspaces.log = async (name, query) => ({ ...(await log(name, query)), version: 0 });
  await topic.publish({ n: 2 });
  await expect(waiting).rejects.toMatchObject({ code: "VERSION_GONE" });
  tier.workspaces.log = log;
  expect(await stored()).toBe(acknowledged);
  expect((await topic.subscribe("quiet").next()).value).toMatchObject({ body: { n: 2 } });
});

test("an acknowledgement asks the storage twice", async () => {
  const { tier, topic } = open();
  for (let n = 0; n < 5; n += 1) await topic.publish({ n });
  const reading = topic.subscribe("quiet");
  const given: Message[] = [];
  for (let n = 0; n < 5; n += 1) given.push((await reading.next()).value as Message);
  const calls = [
    vi.spyOn(tier.items, "read"),
    vi.spyOn(tier.workspaces, "log"),
    vi.spyOn(tier.workspaces, "commit"),
  ];
  const asked: number[] = [];
  for (const message of given) {
    await message.ack();
    asked.push(calls.reduce((sum, { mock }) => sum + mock.calls.length, 0));
  }
  expect(asked).toEqual([2, 4, 6, 8, 10]);
  await reading.return(undefined);
});
