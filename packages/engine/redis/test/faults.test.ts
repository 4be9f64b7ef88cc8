import { inspect } from "node:util";
import { StratigraphError, type ErrorCode } from "@stratigraph/core";
import { Redis } from "ioredis";
import { startRedis, type RedisServer } from "../../../../test/servers/redis.ts";
import { explainRedisError } from "../src/explainRedisError.ts";
import { RedisSaver, redis } from "../src/index.ts";
import { at, blob, put } from "./fixtures.ts";

// What goes wrong on a real server, and what the caller is told.

let server: RedisServer | undefined;
const opened: { end(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.end();
  await server?.stop();
  server = undefined;
});

async function failure(
  work: Promise<unknown>,
  code: ErrorCode = "UNAVAILABLE",
): Promise<{ error: StratigraphError }> {
  const error: unknown = await work.then(
    () => expect.fail("it went well"),
    (reason: unknown) => reason,
  );
  if (!StratigraphError.is(error, code)) throw error;
  return { error };
}

test("a wrong password is told as such, by fromUrl and by a lazily opened tier", async () => {
  server = await startRedis({ password: "s3cret" });
  const { error } = await failure(
    RedisSaver.fromUrl(`redis://:wrong@127.0.0.1:${server.port}`),
    "ACCESS_DENIED",
  );
  expect(error.message).toContain("refuses this user or password");
  expect(error.cause).toBeInstanceOf(Error);
  const tier = redis({ url: `redis://127.0.0.1:${server.port}` });
  opened.push(tier);
  expect(
    (await failure(tier.peek({ threadId: "t", namespace: "" }), "ACCESS_DENIED")).error.message,
  ).toContain("refuses this user or password");
  const right = await RedisSaver.fromUrl(server.url);
  opened.push(right);
  expect(await right.getTuple({ configurable: { thread_id: "t" } })).toBeUndefined();
});

test("an error shows no argument of its command, however deep one looks: no password, no value, no script", async () => {
  server = await startRedis({ password: "s3cret" });
  const { error: refused } = await failure(
    RedisSaver.fromUrl(`redis://:hunter2@127.0.0.1:${server.port}`),
    "ACCESS_DENIED",
  );
  expect((refused.cause as { command?: unknown }).command).toEqual({ name: expect.any(String) });
  expect(inspect(refused, { depth: null })).not.toContain("hunter2");
  const tier = redis({ url: server.url });
  opened.push(tier);
  await tier.setup();
  await server.command("CONFIG", "SET", "maxmemory", "1mb");
  const { error: full } = await failure(
    tier.append(put("t", "c1", undefined, [blob("value", 100)])),
    "STORAGE_FULL",
  );
  expect((full.cause as { command?: unknown }).command).toEqual({ name: expect.any(String) });
});

test("no server: an error within the time limit, naming the reason", async () => {
  const { error } = await failure(RedisSaver.fromUrl("redis://127.0.0.1:1", { commandTimeout: "1s" }));
  expect(error.message).toContain("ECONNREFUSED");
});

test("a server that hangs costs the time limit, and serves again when it wakes", async () => {
  server = await startRedis();
  const tier = redis({ url: server.url, commandTimeout: "200ms" });
  opened.push(tier);
  await tier.append(put("t", "c1"));
  server.pause();
  const peek = async () => await tier.peek({ threadId: "t", namespace: "" });
  const append = async () => await tier.append(put("t", "c2", "c1"));
  for (const work of [peek, append]) {
    const { error } = await failure(work());
    expect(error.message).toContain("no answer within 200 ms");
  }
  server.resume();
  await expect
    .poll(async () => (await peek().catch(() => undefined))?.head, { timeout: 20_000 })
    .toMatch(/c[12]/);
  await append();
  expect((await tier.read({ threadId: "t", namespace: "" })).checkpoint?.record.checkpointId).toBe("c2");
});

test("a server killed and restarted empty: an error, then everything anew, scripts and all", async () => {
  server = await startRedis();
  const saver = await RedisSaver.fromUrl(server.url, { commandTimeout: "1s" });
  opened.push(saver);
  const { tier } = saver;
  const before = await tier.append(put("t", "c1"));
  await server.kill();
  await failure(tier.peek({ threadId: "t", namespace: "" }));
  await server.start();
  await expect
    .poll(async () => await tier.peek({ threadId: "t", namespace: "" }).catch(() => undefined), {
      timeout: 20_000,
    })
    .toEqual({ revision: 0, writes: [] });
  const after = await tier.append(put("t", "c2", "c1"));
  expect(after.heads[0]).toEqual({ namespace: "", head: "c2", moved: true });
  // Whoever still holds a revision from before must not take the new thread for the old one.
  expect(after.revision).toBeGreaterThan(before.revision);
});

test("a durable server keeps what it acknowledged over a kill", async () => {
  server = await startRedis({ appendonly: true, extraArgs: ["--appendfsync", "always"] });
  const tier = redis({ url: server.url });
  opened.push(tier);
  await tier.append(put("t", "c1", undefined, [blob("value")]));
  await server.kill();
  await server.start();
  await expect
    .poll(async () => (await tier.read(at("t", "c1")).catch(() => undefined))?.checkpoint?.blobs.size, {
      timeout: 20_000,
    })
    .toBe(1);
});

test("a full server that evicts nothing refuses whole writes, still reads, and lets go", async () => {
  server = await startRedis({ maxmemory: "6mb", maxmemoryPolicy: "noeviction" });
  const tier = redis({ url: server.url });
  opened.push(tier);
  let stored = 0;
  const error = await (async () => {
    for (; stored < 100; stored += 1) {
      const value = blob(`value ${stored}`, 200_000);
      const parent = stored === 0 ? undefined : `c${99 + stored}`;
      const failed = await tier
        .append(put("t", `c${100 + stored}`, parent, [value]))
        .catch((reason) => reason);
      if (StratigraphError.is(failed)) return failed;
    }
    return undefined;
  })();
  expect(error?.code).toBe("STORAGE_FULL");
  expect(error?.message).toContain("raise maxmemory");
  expect(stored).toBeGreaterThan(3);
  const { checkpoint, head } = await tier.read({ threadId: "t", namespace: "" });
  expect(head).toBe(`c${99 + stored}`);
  expect(checkpoint?.blobs.size).toBe(1);
  expect(await tier.blobs("t")).toHaveLength(stored);
  await tier.deleteThread("t");
  await tier.append(put("u", "c1", undefined, [blob("again", 200_000)]));
});

test("a server that evicts: a thread is there whole or not at all", async () => {
  server = await startRedis({ maxmemory: "8mb", extraArgs: ["--maxmemory-samples", "3"] });
  const client = new Redis(server.url);
  const tier = redis({ client, prefix: "e:" });
  try {
    for (let n = 0; n < 200; n += 1) {
      const value = blob(`value ${n}`, 60_000);
      await tier.append(put(`t${n}`, "c1", undefined, [value]));
      await tier.append(put(`t${n}`, "c2", "c1", [blob(`more ${n}`, 20_000)]));
    }
    let whole = 0;
    for (let n = 0; n < 200; n += 1) {
      const threadId = `t${n}`;
      const { head, checkpoint } = await tier.read({ threadId, namespace: "" });
      expect([head, checkpoint?.record.checkpointId]).toBeOneOf([
        ["c2", "c2"],
        [undefined, undefined],
      ]);
      const listed = [];
      for await (const { record, blobs } of tier.list({ threadId })) {
        listed.push(record.checkpointId);
        for (const hash of record.blobs) expect(blobs.has(hash)).toBe(true);
      }
      // The sorted set is a key of its own: evicted alone, it is rebuilt, which may evict the thread itself, or another.
      if (listed.length > 0) expect(listed).toEqual(["c2", "c1"]);
      else expect((await tier.peek({ threadId, namespace: "" })).revision).toBe(0);
      if (checkpoint !== undefined) whole += 1;
    }
    expect(whole).toBeGreaterThan(10);
    expect(whole).toBeLessThan(190);
  } finally {
    client.disconnect();
  }
});

test("a client without rights is told what it needs", async () => {
  server = await startRedis();
  await server.command("acl", "setuser", "reader", "on", ">pw", "~*", "+@read");
  const { error } = await failure(
    redis({ url: `redis://reader:pw@127.0.0.1:${server.port}` }).append(put("t", "c1")),
    "ACCESS_DENIED",
  );
  expect(error.message).toContain("@scripting");
});

test("a callback that holds this process up for longer than a command may take fails none", async () => {
  server = await startRedis();
  const tier = redis({ url: server.url, commandTimeout: "200ms" });
  opened.push(tier);
  await tier.append(put("t", "c1"));
  const reading = tier.peek(at("t", "c1"));
  setImmediate(() => {
    const until = performance.now() + 500;
    while (performance.now() < until);
  });
  expect((await reading).head).toBe("c1");
});

test("a script that an ACL refuses is no outage, in the words of Redis 7.0, and of Redis 7.2 and Valkey", () => {
  for (const said of [
    "ERR The user executing the script can't run this command or subcommand script: b1ab",
    "ERR ACL failure in script: User r has no permissions to run the 'hset' command script: b1ab",
  ])
    expect(explainRedisError(new Error(said))).toMatchObject({ code: "ACCESS_DENIED", retryable: false });
});
