import { MemoryTier } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";

const append = (checkpointId: string, expected: "any" | string[] = "any") => ({
  threadId: "t",
  records: [{ threadId: "t", namespace: "", checkpointId, terms: [], blobs: [], body: new Uint8Array(1) }],
  blobs: [],
  heads: [{ namespace: "", to: checkpointId, expected }],
  onConflict: "refuse" as const,
});
const at = { threadId: "t", namespace: "" };

async function ids(tier: FaultyTier): Promise<string[]> {
  const found: string[] = [];
  for await (const { record } of tier.list({ threadId: "t" })) found.push(record.checkpointId);
  return found;
}

test("failNext: so many calls fail, before anything happens; other methods don't", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const error = new Error("cut");
  tier.failNext("append", error, { times: 2 });
  await expect(tier.append(append("c1"))).rejects.toBe(error);
  expect((await tier.peek(at)).head).toBeUndefined();
  await expect(tier.append(append("c1"))).rejects.toBe(error);
  await tier.append(append("c1"));
  expect((await tier.peek(at)).head).toBe("c1");
  expect(tier.calls.map(({ method, outcome }) => `${method} ${outcome}`)).toEqual([
    "append refused",
    "peek returned",
    "append refused",
    "append returned",
    "peek returned",
  ]);
});

test("dropAcknowledgement: it happens, and the caller gets an error", async () => {
  const tier = new FaultyTier(new MemoryTier());
  tier.dropAcknowledgement("append");
  await expect(tier.append(append("c1"))).rejects.toThrow("planned failure of append");
  expect((await tier.peek(at)).head).toBe("c1");
  expect(tier.calls[0]!.outcome).toBe("unacknowledged");
});

test("plans for one method are used up in the order they were made", async () => {
  const tier = new FaultyTier(new MemoryTier());
  tier.failNext("append", new Error("first"));
  tier.dropAcknowledgement("append", new Error("second"));
  await expect(tier.append(append("c1"))).rejects.toThrow("first");
  await expect(tier.append(append("c2"))).rejects.toThrow("second");
  expect(await ids(tier)).toEqual(["c2"]);
});

test("an iteration fails at its first item, after some, or at its end", async () => {
  const tier = new FaultyTier(new MemoryTier());
  for (const id of ["c1", "c2", "c3"]) await tier.append(append(id));
  const until = async (): Promise<string[]> => {
    const found: string[] = [];
    try {
      for await (const { record } of tier.list({ threadId: "t" })) found.push(record.checkpointId);
    } catch (error) {
      found.push((error as Error).message);
    }
    return found;
  };
  tier.failNext("list", new Error("cut"));
  expect(await until()).toEqual(["cut"]);
  tier.failNext("list", new Error("cut"), { items: 2 });
  expect(await until()).toEqual(["c3", "c2", "cut"]);
  tier.dropAcknowledgement("list", new Error("cut"));
  expect(await until()).toEqual(["c3", "c2", "c1", "cut"]);
  expect(await until()).toEqual(["c3", "c2", "c1"]);
  for await (const _one of tier.list({ threadId: "t" })) break;
  expect(tier.calls.slice(-5).map(({ outcome }) => outcome)).toEqual([
    "refused",
    "refused",
    "unacknowledged",
    "returned",
    "stopped",
  ]);
});

test("failWhen: as long as it is there", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const heal = tier.failWhen(({ method }) =>
    method === "peek" ? new Error("no peeking") : method === "read",
  );
  await expect(tier.peek(at)).rejects.toThrow("no peeking");
  await expect(tier.read(at)).rejects.toThrow("planned failure of read");
  await tier.append(append("c1"));
  heal();
  expect((await tier.peek(at)).head).toBe("c1");
});

test("hold: a call waits where it is, later ones pass it", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const hold = tier.hold("append");
  const late = tier.append(append("c1", []));
  await hold.reached;
  await tier.append(append("c2", []));
  hold.release();
  await expect(late).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
  expect(tier.calls.map(({ outcome }) => outcome)).toEqual(["failed", "returned"]);
});

test("delay: a call takes that long", async () => {
  const tier = new FaultyTier(new MemoryTier());
  tier.delay("peek", 20);
  const from = performance.now();
  await tier.peek(at);
  expect(performance.now() - from).toBeGreaterThan(15);
  tier.delay("peek", 0);
  await tier.peek(at);
  expect(tier.count("peek")).toBe(2);
});

test("reset: everything passes again, also what was held", async () => {
  const tier = new FaultyTier(new MemoryTier());
  tier.failNext("peek", undefined, { times: 5 });
  tier.failWhen(() => true);
  tier.delay("peek", 60_000);
  const hold = tier.hold("read");
  const held = tier.read(at);
  await hold.reached;
  tier.reset();
  expect((await held).revision).toBe(0);
  expect((await tier.peek(at)).revision).toBe(0);
  expect(tier.calls.map(({ method }) => method)).toEqual(["peek"]);
});
