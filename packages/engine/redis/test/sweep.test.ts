import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redis } from "../src/index.ts";
import { put } from "./fixtures.ts";
import { testShrinking } from "./shrinking.ts";

const { url, prefix: keyPrefix } = await sharedRedis();
const client = new Redis(url);
let prefixes = 0;
const fresh = () => `${keyPrefix}sweep ${(prefixes += 1)}:`;
afterAll(() => client.disconnect());

testShrinking(() => ({ client, prefix: fresh() }));

test("takes names of threads that are gone, also those that runs wrote to; leaves what is young", async () => {
  // Without expiry: where threads expire, writes take such names away too, at random.
  const tier = redis({ client, prefix: fresh() });
  const runOf = (threadId: string) => {
    const request = put(threadId, "c1");
    return { ...request, records: request.records.map((record) => ({ ...record, runId: "run" })) };
  };
  for (const id of ["expired", "deleted", "kept"]) await tier.append(runOf(id));
  const prefix = `${keyPrefix}sweep ${prefixes}:`;
  await client.del(`${prefix}t:{expired}`, `${prefix}i:{expired}`);
  await tier.deleteThread("deleted");
  expect(await client.zcard(`${prefix}threads`)).toBe(2);
  expect(await client.scard(`${prefix}run:run`)).toBe(3);
  expect(await tier.sweep(3_600_000)).toBe(0);
  // Moments are whole seconds.
  expect(await tier.sweep(-2000)).toBe(4);
  expect(await client.zrange(`${prefix}open`, "0", "-1")).toEqual(["kept"]);
  expect(await client.zrange(`${prefix}threads`, "0", "-1")).toEqual(["kept"]);
  expect(await client.smembers(`${prefix}run:run`)).toEqual(["kept"]);
  await tier.deleteThread("kept");
  expect(await tier.sweep(-2000)).toBe(1);
  expect(await client.exists(`${prefix}run:run`, `${prefix}runs`)).toBe(0);
});

test("a call does a bounded part, and the next ones go on", async () => {
  const keyPrefix = fresh();
  const tier = redis({ client, prefix: keyPrefix });
  const pipeline = client.pipeline();
  for (let n = 0; n < 6000; n += 1) pipeline.zadd(`${keyPrefix}threads`, n, `gone ${n}`);
  await pipeline.exec();
  const first = await tier.sweep(1000);
  expect([first, await tier.sweep(1000)]).toEqual([5000, 1000]);
  expect(await client.exists(`${keyPrefix}threads`)).toBe(0);
});
