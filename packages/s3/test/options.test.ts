import { randomBytes } from "node:crypto";
import { FolderSaver, s3, S3Saver } from "../src/index.ts";
import { threadKey } from "../src/threadKey.ts";
import { openBucket } from "./support/bucket.ts";
import { put } from "./support/puts.ts";

let open: Awaited<ReturnType<typeof openBucket>>;
beforeAll(async () => {
  open = await openBucket();
});
afterAll(() => open.close());

test("a key sent with every request encrypts everything, and nothing is read without it", async () => {
  const { client, bucket } = open;
  const options = { client, bucket, prefix: "sse", tags: { app: "agents & co" } };
  const customerKey = randomBytes(32);
  const tier = s3({ ...options, serverSideEncryption: { customerKey } });
  await tier.setup();
  await tier.append(put("thread", "a", undefined, 90_000));
  await tier.append(put("thread", "b", "a", 100));
  const again = s3({ ...options, serverSideEncryption: { customerKey } });
  expect((await again.read({ threadId: "thread", namespace: "" })).checkpoint?.record.checkpointId).toBe("b");
  await expect(s3(options).read({ threadId: "thread", namespace: "" })).rejects.toMatchObject({
    code: "NOT_SET_UP",
  });
});

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
