import { CorruptionError, MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import { FaultyTier } from "@stratigraph/testing";
import { expect, test } from "vitest";
import { twoSteps } from "./support.ts";

test("a damaged thread is told, or ends keysInUse: the others are counted, and nothing of it", async () => {
  const tier = new FaultyTier(new MemoryTier());
  const encryption = { keys: { one: Buffer.alloc(32, 1) }, activeKey: "one", hashKey: Buffer.alloc(32, 2) };
  for (const [thread_id, options] of [
    ["ada", { encryption }],
    ["bad", { encryption }],
    ["eve", {}],
  ] as const)
    await twoSteps(new TierSaver(tier, options)).invoke({ who: "a" }, { configurable: { thread_id } });
  const saver = new TierSaver(tier);
  const whole = await saver.keysInUse({ threadIds: ["ada", "eve"] });
  expect((await saver.keysInUse()).keys[1]).toMatchObject({ keyId: "one", threads: 2 });
  const told: StratigraphError[] = [];
  const onDamaged = (error: StratigraphError): void => void told.push(error);
  const damage = new CorruptionError({ threadId: "bad", namespace: "", checkpointId: "c" }, "damaged");
  // Asked once its checkpoints were counted.
  tier.failWhen(({ method, args: [first] }) => (method === "blobs" && first === "bad" ? damage : undefined));
  await expect(saver.keysInUse()).rejects.toBe(damage);
  expect(await saver.keysInUse({ onDamaged })).toEqual(whole);
  expect(told).toEqual([damage]);
  tier.failNext("list", new StratigraphError("UNAVAILABLE", "away", {}));
  await expect(saver.keysInUse({ onDamaged })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(told).toHaveLength(1);
});
