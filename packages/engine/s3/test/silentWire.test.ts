import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expectRunsToSurviveSilence } from "../../../../test/silentRuns.ts";
import { silentProxy, type SilentProxy } from "../../../../test/servers/silentProxy.ts";
import { S3Saver, s3 } from "../src/index.ts";
import { clientOf, openBucket } from "./support/bucket.ts";
import { put } from "./support/puts.ts";
import { sdk } from "./support/sdk.ts";

// A wire that is cut without a word: nothing is closed, nothing answers, and what was open never speaks again.

let open: Awaited<ReturnType<typeof openBucket>>;
let proxy: SilentProxy;
let client: ReturnType<typeof clientOf>;
beforeAll(async () => {
  open = await openBucket();
});
beforeEach(async () => {
  proxy = await silentProxy(Number(new URL(open.login.endpoint).port));
  client = clientOf({ ...open.login, endpoint: `http://127.0.0.1:${proxy.port}` });
});
afterEach(async () => {
  client.destroy();
  await proxy.close();
});
afterAll(() => open.close());

const options = () => ({ client, bucket: open.bucket, timeout: "2s", attempts: 2 }) as const;

test("12 runs at once end with a code, and the next ones run as soon as the wire is back", async () => {
  const saver = new S3Saver({ ...options(), prefix: "runs" });
  await expectRunsToSurviveSilence(saver, proxy, "ARCHIVE_UNAVAILABLE", "sync");
  await saver.end();
});

test("an answer that stops half-way is asked for again, and ends with a code where every one does", async () => {
  const at = { ...options(), prefix: "half" };
  await s3(at).append(put("thread", "a", undefined, 2_000_000));
  proxy.silenceAfter(300_000);
  const down = { code: "ARCHIVE_UNAVAILABLE", data: { attempts: 2, operation: "get" } };
  await expect(s3(at).read({ threadId: "thread", namespace: "" })).rejects.toMatchObject(down);
  proxy.speak();
  const { checkpoint } = await s3(at).read({ threadId: "thread", namespace: "" });
  expect([...checkpoint!.blobs.values()][0]!.bytes.length).toBe(2_000_000);
});

test("every method, setup() and end() come back while the wire is silent", async () => {
  const tier = s3({ ...options(), prefix: "methods", timeout: "500ms" });
  proxy.silence();
  await Promise.all(
    [
      tier.setup(),
      tier.peek({ threadId: "t", namespace: "" }),
      tier.list({ threadId: "t" }).next(),
      tier.threads({}).next(),
      tier.blobs("t"),
      tier.append(put("t", "a", undefined, 10)),
      tier.deleteThread("t"),
      tier.sweep(0),
    ].map(async (call) => {
      await expect(call).rejects.toMatchObject({ code: "ARCHIVE_UNAVAILABLE", retryable: true });
    }),
  );
  await tier.end();
});

test("a client that repeats requests itself makes no more of them than `attempts`", async () => {
  let requests = 0;
  const server = createServer((_, answer) => {
    requests += 1;
    answer.writeHead(503).end("<Error><Code>SlowDown</Code></Error>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const repeats = new sdk.S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: "key", secretAccessKey: "secret" },
  });
  try {
    for (const [attempts, made] of [
      [4, 3],
      [6, 6],
    ] as const) {
      requests = 0;
      const tier = s3({ client: repeats, bucket: "b", attempts });
      await expect(tier.peek({ threadId: "t", namespace: "" })).rejects.toMatchObject({
        code: "ARCHIVE_UNAVAILABLE",
        data: { attempts: made },
      });
      expect(requests).toBe(made);
    }
  } finally {
    repeats.destroy();
    server.closeAllConnections();
    server.close();
  }
});
