import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { MemoryTier, StratigraphError, StratigraphSerializer, TierSaver, type Tier } from "@stratigraph/core";
import { expect, test } from "vitest";

// While a tier is asked which checkpoint is the head, the values of the likely one are decoded.

/** Counts how many values were decoded. */
class CountingSerializer extends StratigraphSerializer {
  decoded = 0;

  override async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    this.decoded += 1;
    return await super.loadsTyped(type, data);
  }
}

const channels = Array.from({ length: 20 }, (_, n) => `channel ${n}`);
const at = (thread: string) => ({ configurable: { thread_id: thread, checkpoint_ns: "" } });

function checkpointOf(thread: string): Checkpoint {
  const values = channels.map((name) => [name, { text: `${thread} ${name} `.repeat(500) }]);
  return {
    ...emptyCheckpoint(),
    id: uuid6(1),
    channel_values: Object.fromEntries(values) as Record<string, unknown>,
    channel_versions: Object.fromEntries(channels.map((name) => [name, 1])),
  };
}

/** A saver over a tier whose peeks tell the record once the test lets them, and that has put one checkpoint in each thread. */
async function saverOf(threads: readonly string[]) {
  const inner = new MemoryTier();
  const serde = new CountingSerializer();
  const held: (() => void)[] = [];
  let refuses = false;
  const tier: Tier = new Proxy(inner, {
    get(target, name) {
      if (name === "peeksRecords") return true;
      if (name === "peek")
        return async (address: Parameters<Tier["peek"]>[0]) => {
          if (refuses) throw new StratigraphError("OVERLOADED", "too many calls");
          await new Promise<void>((resolve) => {
            held.push(resolve);
          });
          const { checkpoint, ...state } = await inner.read(address);
          const { record, writes = [] } = checkpoint ?? {};
          return {
            ...state,
            writes,
            ...(record === undefined ? {} : { record, checkpointId: record.checkpointId }),
          };
        };
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const saver = new TierSaver(tier, { serde });
  for (const thread of threads) {
    const checkpoint = checkpointOf(thread);
    await saver.put(
      at(thread),
      checkpoint,
      { source: "loop", step: 0, parents: {} },
      checkpoint.channel_versions,
    );
  }
  serde.decoded = 0;
  return {
    saver,
    serde,
    release: () => held.splice(0).forEach((answer) => answer()),
    refuse: () => (refuses = true),
  };
}

const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};

test("of reads that wait at the same time, one has its values decoded meanwhile", async () => {
  const threads = Array.from({ length: 30 }, (_, n) => `thread ${n}`);
  const { saver, serde, release } = await saverOf(threads);
  const reads = threads.map((thread) => saver.getTuple(at(thread)));
  await turns(100);
  expect(serde.decoded).toBe(channels.length);
  release();
  const tuples = await Promise.all(reads);
  expect(tuples.map((tuple) => tuple?.checkpoint.channel_values)).toEqual(
    threads.map((thread) => checkpointOf(thread).channel_values),
  );
  // Metadata are decoded too, of each.
  expect(serde.decoded).toBe(threads.length * (channels.length + 1));
});

test("nothing is decoded for a read that was refused", async () => {
  const { saver, serde, refuse } = await saverOf(["refused"]);
  refuse();
  await expect(saver.getTuple(at("refused"))).rejects.toMatchObject({ code: "OVERLOADED" });
  await turns(100);
  expect(serde.decoded).toBe(0);
});

test("after a read, the next one is decoded ahead again", async () => {
  const { saver, serde, release } = await saverOf(["again"]);
  for (const times of [1, 2]) {
    const reading = saver.getTuple(at("again"));
    await turns(100);
    expect(serde.decoded).toBe(times * channels.length + times - 1);
    release();
    await reading;
  }
  expect(serde.decoded).toBe(2 * (channels.length + 1));
});
