import { randomBytes } from "node:crypto";
import { MemoryTier, type EncryptionOptions } from "@stratigraph/core";
import { TieredSaver, boundedMemory } from "@stratigraph/tiered";
import { expect, test } from "vitest";
import { configOf, put, text, valueOf } from "./support.ts";

const [one, two, hashKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];

test("a key that can't be fetched once doesn't stay with the copy in memory", async () => {
  const warm = new MemoryTier();
  const first = new TieredSaver({ warm, encryption: { keys: { one }, activeKey: "one", hashKey } });
  for (const n of [1, 2, 3]) await put(first, "t", n, text(`value ${n}`));
  let failures = 1;
  const rotated: EncryptionOptions = {
    keys: {
      one: () => {
        failures -= 1;
        if (failures >= 0) throw new Error("KMS is down");
        return one;
      },
      two,
    },
    activeKey: "two",
    hashKey,
  };
  // A checkpoint under the new key with a value that is still under the old one.
  const both = { ...rotated, keys: { one, two } };
  await put(new TieredSaver({ warm, encryption: both }), "t", 4, text("value 3"));
  const hot = boundedMemory();
  // The copy is there before anybody can read it.
  const filling = new TieredSaver({ hot, warm, encryption: both });
  expect(await valueOf(filling, "t")).toBe(text("value 3"));
  await (filling.tier as unknown as { idle(): Promise<void> }).idle();
  expect((await hot.read({ threadId: "t", namespace: "" })).checkpoint).toBeDefined();
  const saver = new TieredSaver({ hot, warm, encryption: rotated });
  await expect(saver.getTuple(configOf("t"))).rejects.toMatchObject({
    code: "KEY_UNAVAILABLE",
    data: { keyId: "one", channel: "value" },
  });
  for (let repeated = 0; repeated < 3; repeated += 1) expect(await valueOf(saver, "t")).toBe(text("value 3"));
});
