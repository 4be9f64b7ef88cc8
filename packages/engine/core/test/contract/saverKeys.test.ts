import { randomBytes } from "node:crypto";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import {
  MemoryTier,
  StratigraphSerializer,
  TierSaver,
  type EncryptionOptions,
  type Tier,
} from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { historyOf, stepsBy, twoSteps, withoutKeyChecks } from "./support.ts";

const thread = { configurable: { thread_id: "t" } };
const hashKey = randomBytes(32);
const oldKey = randomBytes(32);

/** A key service that answers, fails or hangs, and counts how often it was asked. */
class KeyService {
  asked = 0;
  state: "up" | "down" | "hanging" = "up";

  encryption(more: Partial<EncryptionOptions> = {}): EncryptionOptions {
    return { keys: { old: () => this.#key() }, activeKey: "old", hashKey, ...more };
  }

  async #key(): Promise<Uint8Array> {
    this.asked += 1;
    if (this.state === "hanging") return await new Promise<never>(() => {});
    if (this.state === "down") throw new Error("KMS is down");
    return oldKey;
  }
}

/** A thread with patches, pending writes and a history, sealed with the old key. */
async function filled(): Promise<MemoryTier> {
  const tier = new MemoryTier();
  const graph = twoSteps(new TierSaver(tier, { encryption: new KeyService().encryption() }));
  for (const who of ["a", "b", "c"]) await graph.invoke({ who, note: "n".repeat(2000) + who }, thread);
  return tier;
}

test("another key under the same id, of which no check value is known: it is to be checked before anything is restored", async () => {
  const wrong = new TierSaver(withoutKeyChecks(await filled()), {
    encryption: { keys: { old: randomBytes(32) }, activeKey: "old", hashKey },
  });
  await expect(wrong.getTuple(thread)).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringMatching(/key "old".*Check the key first.*damaged/s) as string,
  });
});

const failed = {
  name: "StratigraphError",
  code: "KEY_UNAVAILABLE",
  retryable: true,
  data: { keyId: "old", threadId: "t" },
  message: expect.stringMatching(/^Thread "t", .*The function of key "old" failed: KMS is down\./),
};

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const operations: Readonly<Record<string, (saver: TierSaver) => Promise<unknown>>> = {
  getTuple: (saver) => saver.getTuple(thread),
  list: (saver) => all(saver.list(thread)),
  "list with a filter": (saver) => all(saver.list(thread, { filter: { source: "loop" } })),
  getState: (saver) => twoSteps(saver).getState(thread),
  getStateHistory: (saver) => historyOf(saver),
  getDeltaChannelHistory: (saver) => saver.getDeltaChannelHistory({ config: thread, channels: ["none"] }),
  invoke: (saver) => twoSteps(saver).invoke({ who: "d" }, { ...thread, durability: "sync" }),
  prune: (saver) => saver.prune(["t"], { strategy: "keep_latest" }),
  deleteForRuns: async (saver) => {
    const head = (await saver.tier.read({ threadId: "t", namespace: "" })).checkpoint!.record;
    await saver.tier.append({
      threadId: "t",
      records: [{ ...head, runId: "run" }],
      blobs: [],
      heads: [],
      onConflict: "refuse",
    });
    await saver.deleteForRuns(["run"]);
  },
  "listThreads with a filter": (saver) => saver.listThreads({ filter: { source: "loop" } }),
};

describe("a key that can't be fetched once", () => {
  for (const [name, operation] of Object.entries(operations)) {
    test(`${name}: an error that may be repeated, and then it works`, async () => {
      const service = new KeyService();
      service.state = "down";
      const saver = new TierSaver(await filled(), { encryption: service.encryption() });
      await expect(operation(saver)).rejects.toMatchObject(failed);
      expect(service.asked).toBe(1);
      service.state = "up";
      await operation(saver);
      expect((await twoSteps(saver).getState(thread)).values.log.slice(-2)).toEqual(
        name === "invoke" ? ["one by d", "two by d"] : ["one by c", "two by c"],
      );
      expect(service.asked).toBe(2);
    });
  }

  test("a value's key: the blob that the tier keeps isn't unreadable for ever", async () => {
    const tier = await filled();
    const service = new KeyService();
    const read = async () => await new TierSaver(tier, { encryption: service.encryption() }).getTuple(thread);
    const put = await read();
    // Only values are under the old key: bodies are written anew by the next put.
    const rotated = { keys: { old: service.encryption().keys["old"]!, new: oldKey }, activeKey: "new" };
    const saver = new TierSaver(tier, { encryption: service.encryption(rotated) });
    const next = { ...put!.checkpoint, ...emptyCheckpoint(), id: "9" };
    await saver.put(
      put!.config,
      {
        ...next,
        channel_values: put!.checkpoint.channel_values,
        channel_versions: put!.checkpoint.channel_versions,
      },
      { source: "loop", step: 9, parents: {} },
      {},
    );
    service.state = "down";
    const reader = new TierSaver(tier, { encryption: service.encryption(rotated) });
    const { checkpoint } = await tier.read({ threadId: "t", namespace: "" });
    expect(checkpoint!.record.checkpointId).toBe("9");
    for (let repeated = 0; repeated < 2; repeated += 1)
      await expect(reader.getTuple(thread)).rejects.toMatchObject({
        code: "KEY_UNAVAILABLE",
        data: { channel: expect.any(String) },
      });
    service.state = "up";
    expect((await reader.getTuple(thread))?.checkpoint.channel_values).toEqual(
      put!.checkpoint.channel_values,
    );
  });

  test("many reads at once ask once; each learns of the failure", async () => {
    const service = new KeyService();
    service.state = "down";
    const saver = new TierSaver(await filled(), { encryption: service.encryption() });
    const reads = await Promise.allSettled(Array.from({ length: 20 }, () => saver.getTuple(thread)));
    expect(reads.map((read) => read.status === "rejected" && read.reason.code)).toEqual(
      reads.map(() => "KEY_UNAVAILABLE"),
    );
    expect(service.asked).toBe(1);
    service.state = "up";
    await Promise.all(Array.from({ length: 20 }, () => saver.getTuple(thread)));
    expect(service.asked).toBe(2);
  });

  test("a function that hangs ends the call after keyTimeout", async () => {
    const service = new KeyService();
    service.state = "hanging";
    const encryption = service.encryption({ keyTimeout: "20ms" });
    const saver = new TierSaver(await filled(), { encryption });
    await expect(saver.getTuple(thread)).rejects.toMatchObject({
      code: "KEY_UNAVAILABLE",
      message: expect.stringContaining("it gave no answer within 20 ms"),
    });
    service.state = "up";
    expect((await twoSteps(saver).getState(thread)).values.log).toEqual(["a", "b", "c"].flatMap(stepsBy));
  });
});

describe("a key that can't be fetched at a write", () => {
  const put = async (saver: TierSaver, id: string) =>
    await saver.put(
      thread,
      { ...emptyCheckpoint(), id, channel_values: { a: "v".repeat(2000) }, channel_versions: { a: 1 } },
      { source: "input", step: 0, parents: {} },
      { a: 1 },
    );

  test("stores nothing, and the next write works", async () => {
    const tier = new MemoryTier();
    const service = new KeyService();
    service.state = "down";
    const saver = new TierSaver(tier, { encryption: service.encryption() });
    await expect(put(saver, "1")).rejects.toMatchObject({
      ...failed,
      data: { keyId: "old", threadId: "t", checkpointId: "1", channel: "a" },
      message: expect.stringContaining("nothing was stored"),
    });
    const at = { configurable: { ...thread.configurable, checkpoint_id: "1" } };
    await expect(saver.putWrites(at, [["a", 1]], "task")).rejects.toMatchObject(failed);
    expect(await tier.peek({ threadId: "t", namespace: "", checkpointId: "1" })).toEqual({
      revision: 0,
      writes: [],
    });
    service.state = "up";
    await put(saver, "1");
    await saver.putWrites(at, [["a", 1]], "task");
    const tuple = await new TierSaver(tier, { encryption: service.encryption() }).getTuple(thread);
    expect(tuple).toMatchObject({ checkpoint: { id: "1" }, pendingWrites: [["task", "a", 1]] });
  });
});

describe("what isn't damage isn't called damage", () => {
  class Money {
    constructor(readonly cents: number) {}
  }
  const money = { name: "Money", class: Money, toData: ({ cents }: Money) => cents };
  const serde = (refuses = false) =>
    new StratigraphSerializer({
      types: [
        {
          ...money,
          fromData: (cents: unknown) => {
            if (refuses) throw new TypeError("Money has no cents any more");
            return new Money(Number(cents));
          },
        },
      ],
    });
  const stored = async (): Promise<Tier> => {
    const tier = new MemoryTier();
    await new TierSaver(tier, { serde: serde() }).put(
      thread,
      {
        ...emptyCheckpoint(),
        id: "1",
        channel_values: { price: new Money(5) },
        channel_versions: { price: 1 },
      },
      { source: "input", step: 0, parents: {} },
      { price: 1 },
    );
    return tier;
  };

  test("a class that isn't registered", async () => {
    const saver = new TierSaver(await stored());
    await expect(saver.getTuple(thread)).rejects.toMatchObject({
      code: "UNREGISTERED_TYPE",
      retryable: false,
      data: { threadId: "t", checkpointId: "1", channel: "price", type: "Money" },
      message: expect.stringMatching(/"price".*the type "Money".*Register that class under this name/),
    });
  });

  test("a class that refuses what was stored", async () => {
    const saver = new TierSaver(await stored(), { serde: serde(true) });
    await expect(saver.getTuple(thread)).rejects.toMatchObject({
      code: "SERIALIZATION",
      data: { channel: "price" },
      message: expect.stringContaining("Money has no cents any more"),
    });
  });

  test("another serde", async () => {
    const other = {
      dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => [
        "text",
        Buffer.from(String(value)),
      ],
      loadsTyped: async (_type: string, data: Uint8Array | string) => String(data),
    };
    const tier = new MemoryTier();
    await new TierSaver(tier, { serde: other }).put(
      thread,
      { ...emptyCheckpoint(), id: "1" },
      { source: "input", step: 0, parents: {} },
      {},
    );
    await expect(new TierSaver(tier).getTuple(thread)).rejects.toMatchObject({
      code: "SERIALIZATION",
      message: expect.stringContaining('found the format "text"'),
    });
  });

  test("a record that a newer version wrote", async () => {
    const tier = new MemoryTier();
    const newer = {
      dumpsTyped: async (): Promise<[string, Uint8Array]> => [
        "json",
        Buffer.from('{"lc":2,"type":"sg:Temporal","value":1}'),
      ],
      loadsTyped: async () => undefined,
    };
    const values = { channel_values: { at: 1 }, channel_versions: { at: 1 } };
    await new TierSaver(tier, { serde: newer }).put(
      thread,
      { ...emptyCheckpoint(), id: "1", ...values },
      { source: "input", step: 0, parents: {} },
      { at: 1 },
    );
    await expect(new TierSaver(tier).getTuple(thread)).rejects.toMatchObject({
      code: "NEWER_FORMAT",
      data: { channel: "at" },
      message: expect.stringContaining("upgrade this process"),
    });
  });
});
