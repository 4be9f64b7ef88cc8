import { randomBytes } from "node:crypto";
import { MemorySaver as OfficialMemorySaver } from "@langchain/langgraph-checkpoint";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver, type SaverOptions } from "@stratigraph/core";
import { testPromises } from "@stratigraph/testing";
import { sparse } from "../../../../../test/rounds.ts";

const keys = { one: new Uint8Array(randomBytes(32)) };
const encryption = { keys, activeKey: "one", hashKey: new Uint8Array(randomBytes(32)) };

/** The format of LangGraph's serializer, which answers with promises. It is asked at once, and looks at the value at once. */
const official: SerializerProtocol = new OfficialMemorySaver().serde;

function suite(name: string, options: SaverOptions): void {
  const setup = async () => {
    const tier = new MemoryTier();
    const second = async (): Promise<TierSaver> => new TierSaver(tier, options);
    return { saver: await second(), second, close: async () => undefined };
  };
  testPromises(name, setup, sparse);
}

suite("encrypted", { encryption });
suite("without memory for patches", { patchMemory: "0b" });
suite("encrypted, a key that is fetched", {
  encryption: { ...encryption, keys: { one: async () => keys.one } },
});

test("a serializer that answers with promises is asked for everything before the call returns", async () => {
  const saver = new TierSaver(new MemoryTier(), { serde: official });
  const at = { configurable: { thread_id: "a", checkpoint_ns: "", checkpoint_id: "c1" } };
  const [first, second, bytes] = [{ n: 1 }, { n: 2 }, new Uint8Array([1, 2, 3])];
  const putting = saver.put(
    { configurable: { thread_id: "a", checkpoint_ns: "" } },
    {
      v: 4,
      id: "c1",
      ts: "2026-01-01T00:00:00.000Z",
      channel_values: { first, second, bytes },
      channel_versions: { first: 1, second: 1, bytes: 1 },
      versions_seen: {},
    },
    { source: "input", step: -1, parents: {} },
    { first: 1, second: 1, bytes: 1 },
  );
  const writing = saver.putWrites(
    at,
    [
      ["first", first],
      ["second", second],
      ["bytes", bytes],
    ],
    "task",
  );
  first.n = 3;
  second.n = 3;
  bytes.fill(9);
  await Promise.all([putting, writing]);
  const tuple = await saver.getTuple(at);
  const stored = { first: { n: 1 }, second: { n: 2 }, bytes: new Uint8Array([1, 2, 3]) };
  expect(tuple?.checkpoint.channel_values).toEqual(stored);
  expect(Object.fromEntries(tuple!.pendingWrites!.map(([, channel, value]) => [channel, value]))).toEqual(
    stored,
  );
});
