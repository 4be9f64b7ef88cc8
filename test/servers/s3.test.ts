import { expect, test } from "vitest";
import { available } from "./available.ts";
import { isAlive } from "./process.ts";
import { startS3 } from "./s3.ts";
import { s3Request } from "./s3Request.ts";
import { freshBucket } from "./shared.ts";

test.skipIf(!available.s3)(
  "S3 stores, refuses to overwrite when asked, pauses, and keeps its objects over a kill of the gateway",
  async () => {
    const server = await startS3();
    const { pid } = server;
    try {
      expect((await s3Request(server, "PUT", "/bucket")).status).toBe(200);
      const once = { "if-none-match": "*" };
      expect((await s3Request(server, "PUT", "/bucket/a%20b", "hello", once)).status).toBe(200);
      expect((await s3Request(server, "PUT", "/bucket/a%20b", "again", once)).status).toBe(412);
      expect((await fetch(`${server.endpoint}/bucket/a%20b`)).status).toBe(403);

      server.pause();
      const answer = s3Request(server, "GET", "/bucket/a%20b");
      const first = await Promise.race([
        answer,
        new Promise((resolve) => setTimeout(resolve, 200, "silence")),
      ]);
      expect(first).toBe("silence");
      server.resume();
      expect(await (await answer).text()).toBe("hello");

      await server.kill();
      await expect(fetch(server.endpoint)).rejects.toThrow();
      await server.start();
      expect(await (await s3Request(server, "GET", "/bucket/a%20b")).text()).toBe("hello");
    } finally {
      await server.stop();
    }
    expect(isAlive(pid)).toBe(false);
    expect(isAlive(server.pid)).toBe(false);
    await expect(fetch(server.endpoint)).rejects.toThrow();
  },
);

const shared = available.s3 || process.env["STRATIGRAPH_TEST_S3_ENDPOINT"] !== undefined;
test.skipIf(!shared)("a fresh bucket is empty, and goes with its objects", async () => {
  const bucket = await freshBucket();
  for (const key of ["one", "two/th%20ree%28%29", "%E2%82%AC"])
    expect((await s3Request(bucket, "PUT", `/${bucket.bucket}/${key}`, "x")).status).toBe(200);
  await bucket.drop();
  expect((await s3Request(bucket, "GET", `/${bucket.bucket}?list-type=2`)).status).toBe(404);
});
