import { Redis } from "ioredis";
import { sharedRedis } from "../../../../test/servers/shared.ts";
import { redis } from "../src/index.ts";

// Tokens of locks tell a later holder from an earlier one, also where the server's clock went back or a replica took over.

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const { url, prefix } = await sharedRedis();
const client = new Redis(url);
const tier = redis({ client, prefix });
afterAll(() => client.disconnect());

test.each([
  ["was given back", (name: string) => tier.unlock(name, "one")],
  ["ended", (name: string) => client.hset(`${prefix}lock:${name}`, "until", 1)],
])("the next holder of a lock that %s has a larger token, though the clock went back", async (how, end) => {
  const name = how.replaceAll(" ", "-");
  const one = await tier.lock(name, "one", hourMs);
  await end(name);
  // As it is when the clock was an hour ahead until now. Tokens are in microseconds.
  await client.hincrby(`${prefix}lock:${name}`, "token", hourMs * 1000);
  const two = await tier.lock(name, "two", hourMs);
  expect(two).toMatchObject({ held: true, holder: "two" });
  expect(two.token).toBeGreaterThan(one.token + hourMs * 1000);
  // The one who has it keeps its number, whatever the clock says.
  expect(await tier.lock(name, "two", hourMs)).toEqual(two);
});

test("a lock is remembered for a day after it ended or was given back, and not for ever", async () => {
  const left = () => client.pttl(`${prefix}lock:remembered`);
  await tier.lock("remembered", "one", hourMs);
  expect(await left()).toBeGreaterThan(dayMs);
  expect(await left()).toBeLessThanOrEqual(dayMs + hourMs);
  await tier.unlock("remembered", "one");
  expect(await left()).toBeGreaterThan(dayMs - hourMs);
});
