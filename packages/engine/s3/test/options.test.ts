import { randomBytes } from "node:crypto";
import { FolderSaver, s3, S3Saver } from "../src/index.ts";
import { threadKey } from "../src/threadKey.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { s3Request } from "../../../../test/servers/s3Request.ts";
import type { S3ClientLike } from "../src/s3Options.ts";
import { openBucket } from "./support/bucket.ts";
import { put } from "./support/puts.ts";

let open: Awaited<ReturnType<typeof openBucket>>;
beforeAll(async () => {
  open = await openBucket();
});
afterAll(() => open.close());

test("a key sent with every request encrypts everything, and nothing is read without it", async () => {
  const { client, bucket } = open;
  const options = { client, bucket, prefix: "sse", objectTags: { app: "agents & co" } };
  const customerKey = randomBytes(32);
  const tier = s3({ ...options, serverSideEncryption: { customerKey } });
  await tier.setup();
  await tier.append(put("thread", "a", undefined, 90_000));
  await tier.append(put("thread", "b", "a", 100));
  const again = s3({ ...options, serverSideEncryption: { customerKey } });
  expect((await again.read({ threadId: "thread", namespace: "" })).checkpoint?.record.checkpointId).toBe("b");
  await expect(s3(options).read({ threadId: "thread", namespace: "" })).rejects.toMatchObject({
    code: "MISCONFIGURED",
  });
});

/** The real client, told before each request what is sent; what is thrown then is the answer. */
function watched(
  client: S3ClientLike,
  before: (name: string, input: Record<string, unknown>) => void,
): S3ClientLike {
  return {
    send: async (command: never, options) => {
      const { constructor, input } = command as {
        constructor: { name: string };
        input: Record<string, unknown>;
      };
      before(constructor.name, input);
      return await client.send(command, options);
    },
  };
}

test("setup believes a server whose answer was lost, and none that ignores conditions or refuses them", async () => {
  const options = { bucket: open.bucket, prefix: "conditions", timeout: "2s", attempts: 2 } as const;
  let isFirst = true;
  const forgetful: S3ClientLike = {
    send: async (command: never, sent) => {
      const answer = await open.client.send(command, sent);
      if (!isFirst) return answer;
      isFirst = false;
      throw Object.assign(new Error("socket hang up"), { name: "TimeoutError" });
    },
  };
  await s3({ ...options, client: forgetful }).setup();
  const ignoring = watched(open.client, (_, input) => {
    delete input["IfMatch"];
    delete input["IfNoneMatch"];
  });
  const overwriting = watched(open.client, (_, input) => {
    delete input["IfMatch"];
  });
  const refusing = watched(open.client, (name, input) => {
    if (name === "PutObjectCommand" && ("IfMatch" in input || "IfNoneMatch" in input))
      throw Object.assign(new Error("refused"), { $metadata: { httpStatusCode: 412 } });
  });
  for (const client of [ignoring, overwriting, refusing])
    await expect(s3({ ...options, client }).setup()).rejects.toMatchObject({
      code: "MISCONFIGURED",
      message: expect.stringContaining("doesn't keep the conditions") as string,
    });
});

test("503 SlowDown is repeated; one that goes on is an error that may be repeated later", async () => {
  let slow = 2;
  const client = watched(open.client, () => {
    slow -= 1;
    if (slow >= 0)
      throw Object.assign(new Error("Please reduce your request rate."), {
        name: "SlowDown",
        $metadata: { httpStatusCode: 503 },
      });
  });
  const options = { client, bucket: open.bucket, prefix: "slow" };
  await s3(options).append(put("thread", "a", undefined, 100));
  expect(slow).toBeLessThan(0);
  expect((await s3(options).peek({ threadId: "thread", namespace: "" })).head).toBe("a");
  slow = 3;
  const events = await tracedWhile(() =>
    expect(s3({ ...options, attempts: 3 }).append(put("thread", "b", "a", 100))).rejects.toMatchObject({
      code: "ARCHIVE_UNAVAILABLE",
      data: { attempts: 3 },
    }),
  );
  // Three requests of 10 s, and two pauses of 3 s.
  const retries = events.filter(({ type }) => type === "retry");
  expect(retries).toMatchObject([1, 2].map((attempt) => ({ attempt, forMs: 36_000 })));
});

test.each([
  ["AES256", { ServerSideEncryption: "AES256" }],
  [
    { kmsKeyId: "key", bucketKey: true },
    { ServerSideEncryption: "aws:kms", SSEKMSKeyId: "key", BucketKeyEnabled: true },
  ],
] as const)(
  "encryption %j is asked for with every object; classes are the packs' own",
  async (encryption, sent) => {
    const puts: Record<string, unknown>[] = [];
    const client = watched(open.client, (name, input) => {
      if (name !== "PutObjectCommand") return;
      puts.push({ ...input });
      // Ceph 16 has no keys of its own.
      for (const field of Object.keys(sent)) delete input[field];
      delete input["StorageClass"];
    });
    const prefix = `sent ${typeof encryption}`;
    const options = { client, bucket: open.bucket, prefix, serverSideEncryption: encryption };
    const tier = s3({ ...options, storageClass: "STANDARD_IA", objectTags: { app: "agents & co" } });
    await tier.append(put("thread", "a", undefined, 90_000));
    expect(puts).toHaveLength(2);
    for (const input of puts) expect(input).toMatchObject({ ...sent, Tagging: "app=agents%20%26%20co" });
    expect(puts.map(({ Key, StorageClass }) => [String(Key).endsWith(".pack"), StorageClass])).toEqual([
      [true, "STANDARD_IA"],
      [false, undefined],
    ]);
    const key = String(puts[1]!["Key"]).replaceAll(" ", "%20");
    const tags = await s3Request(open.login, "GET", `/${open.bucket}/${key}?tagging=`);
    expect(await tags.text()).toContain("<Key>app</Key><Value>agents &amp; co</Value>");
  },
);

test("fromUrl opens a client of its own, which end() closes", async () => {
  const { accessKey, secretKey, endpoint, region } = open.login;
  process.env["AWS_ACCESS_KEY_ID"] = accessKey;
  process.env["AWS_SECRET_ACCESS_KEY"] = secretKey;
  const query = new URLSearchParams({ endpoint, region, timeout: "5s" });
  const saver = S3Saver.fromUrl(`s3://${open.bucket}/a/b?${query}`);
  await saver.setup();
  await saver.tier.append(put("thread", "a", undefined, 100));
  await saver.end();
  const found = await s3({ client: open.client, bucket: open.bucket, prefix: "a/b" }).peek({
    threadId: "thread",
    namespace: "",
  });
  expect(found.head).toBe("a");
});

test.each([
  ["url", () => S3Saver.fromUrl("https://bucket")],
  ["url", () => S3Saver.fromUrl("s3://bucket/100%")],
  ["url, colour", () => S3Saver.fromUrl("s3://bucket?colour=red")],
  ["client", () => s3({ client: {} as never, bucket: "b" })],
  ["bucket", () => s3({ client: { send: async () => undefined }, bucket: "" })],
  ["path", () => new FolderSaver({ path: "" })],
])("a wrong %s is refused when made", (field, make) => {
  let thrown: unknown;
  try {
    make();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: "INVALID_OPTION", data: { field } });
});

test("keys: ids that look alike stay apart, also where capitals don't count", () => {
  const ids = [
    "a",
    "A",
    "a.b",
    "a-b",
    "a b",
    "a/b",
    "..",
    "",
    "\ud800",
    "\ud801",
    "\ufffd",
    "x".repeat(10_000),
  ];
  const keys = ids.map((id) => threadKey(id));
  expect(new Set(keys.map((key) => key.toLowerCase())).size).toBe(ids.length);
  for (const key of keys) expect(key).toMatch(/^[a-z0-9_-]{0,64}(\.[0-9a-f]{64})?$/);
  expect(threadKey("0199c2d4-6f1e-7c3a-9d55-0a1b2c3d4e5f")).toBe("0199c2d4-6f1e-7c3a-9d55-0a1b2c3d4e5f");
});
