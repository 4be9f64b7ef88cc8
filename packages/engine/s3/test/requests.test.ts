import { createHash, randomBytes } from "node:crypto";
import type { AppendRequest, Blob, CheckpointRecord } from "@stratigraph/core/tier";
import { expect, test } from "vitest";
import { PackTier } from "../src/index.ts";
import { openBucket } from "./support/bucket.ts";
import { CountingStore } from "./support/countingStore.ts";
import { inRounds } from "../../../../test/rounds.ts";

const threadId = "thread";

/** A checkpoint that brings a blob of random bytes, a patch on the one before. */
function put(n: number, size: number, base?: Blob): { request: AppendRequest; blob: Blob } {
  const bytes = randomBytes(size);
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 40);
  const blob: Blob = { hash, base: base?.hash, bytes };
  const id = String(n).padStart(4, "0");
  const parentId = n === 0 ? undefined : String(n - 1).padStart(4, "0");
  const record: CheckpointRecord = {
    threadId,
    namespace: "",
    checkpointId: id,
    parentId,
    terms: [],
    blobs: [hash],
    body: Buffer.from(`body ${n}`),
  };
  const heads = [{ namespace: "", to: id, expected: parentId === undefined ? [] : [parentId] }];
  return { blob, request: { threadId, records: [record], blobs: [blob], heads, onConflict: "refuse" } };
}

// After the support files, which choose how the SDK is loaded.
const { awsObjectStore } = await import("../src/aws.ts");

let open: Awaited<ReturnType<typeof openBucket>>;
beforeAll(async () => {
  open = await openBucket();
});
afterAll(() => open.close());

/** A tier that remembers nothing, as a new process has it, and what it asks. */
function fresh(prefix: string): { tier: PackTier; store: CountingStore } {
  const store = new CountingStore(awsObjectStore({ client: open.client, bucket: open.bucket, prefix }));
  return { tier: new PackTier(store), store };
}

test("an archived thread is resumed with two requests; what was put since doesn't add any", async () => {
  const puts: ReturnType<typeof put>[] = [];
  for (let n = 0; n < 200; n += 1) puts.push(put(n, 4000, puts.at(-1)?.blob));
  const writer = fresh("archived");
  await writer.tier.append({
    threadId,
    records: puts.flatMap(({ request }) => request.records),
    blobs: puts.map(({ blob }) => blob),
    heads: [{ namespace: "", to: "0199", expected: "any" }],
    onConflict: "refuse",
  });
  expect(writer.store.take()).toEqual(["get head", "put pack", "put head"]);

  // An archiver verifies what it copied: by reading it from S3, not from what it remembers.
  for await (const { record } of writer.tier.list({ threadId, limit: 1 }))
    expect(record.checkpointId).toBe("0199");
  expect(writer.store.take()).toEqual(["get head", "get pack", "get head"]);

  const reader = fresh("archived");
  const reading = await reader.tier.read({ threadId, namespace: "" });
  expect(reader.store.take()).toEqual(["get head", "get pack"]);
  expect(reading.checkpoint?.blobs.size).toBe(200);
  for (const { blob } of puts) {
    const read = reading.checkpoint!.blobs.get(blob.hash)!;
    expect(read.base).toBe(blob.base);
    expect(Buffer.compare(read.bytes, blob.bytes)).toBe(0);
  }

  const next = put(200, 4000, puts.at(-1)!.blob);
  await reader.tier.append(next.request);
  // Small, and the head is known: one request.
  expect(reader.store.take()).toEqual(["put head"]);
  const again = fresh("archived");
  expect((await again.tier.read({ threadId, namespace: "" })).checkpoint?.blobs.size).toBe(201);
  expect(again.store.take()).toEqual(["get head", "get pack"]);
});

test("a thread that S3 alone keeps is resumed with at most three requests, however it grew", async () => {
  const writer = fresh("alone");
  const puts = inRounds({ few: 60, all: 120 });
  let before: Blob | undefined;
  let packsSeen = 0;
  for (let n = 0; n < puts; n += 1) {
    const { request, blob } = put(n, 12_000, before);
    before = blob;
    await writer.tier.append(request);
    if (n % 10 !== 9) continue;
    const reader = fresh("alone");
    const reading = await reader.tier.read({ threadId, namespace: "" });
    expect(reading.checkpoint?.blobs.size).toBe(n + 1);
    const requests = reader.store.take();
    expect(requests.length).toBeLessThanOrEqual(3);
    packsSeen = Math.max(packsSeen, requests.length - 1);
  }
  expect(packsSeen).toBe(2);
  const requests = writer.store.take();
  // Most appends are one request; a pack now and then, and the ones it replaces go.
  expect(requests.filter((request) => request === "put head")).toHaveLength(puts);
  expect(requests.filter((request) => request === "get head")).toHaveLength(1);
  expect(requests.filter((request) => request === "put pack").length).toBeLessThan(puts / 4);
  const left = [];
  for await (const { key } of awsObjectStore({ ...open, prefix: "alone" }).list("")) left.push(key);
  expect(left.length).toBeLessThanOrEqual(3);
});
