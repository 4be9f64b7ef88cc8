import { createHash, randomBytes } from "node:crypto";
import { MemoryTier } from "@stratigraph/core";
import type { AppendRequest, Blob, CheckpointRecord } from "@stratigraph/core/tier";
import { s3 } from "@stratigraph/s3";
import { archiveThread } from "../../src/archiveThread.ts";
import { openBucket } from "../../../s3/test/support/bucket.ts";
import { AppendLog } from "./support/appendLog.ts";
import { inRounds } from "../../../../../test/rounds.ts";

const threadId = "large";
const count = inRounds({ few: 1000, all: 3000, soak: 10_000 });

/** A thread of `count` checkpoints; each brings a blob, a patch on the one before but for every 50th. */
function line(count: number, size: number): AppendRequest {
  const blobs: Blob[] = [];
  const records: CheckpointRecord[] = [];
  for (let n = 0; n < count; n += 1) {
    const bytes = randomBytes(size);
    const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 40);
    blobs.push({ hash, base: n % 50 === 0 ? undefined : blobs[n - 1]!.hash, bytes });
    const checkpointId = String(n).padStart(6, "0");
    const parentId = records.at(-1)?.checkpointId;
    const body = Buffer.from(`body ${n}`);
    records.push({ threadId, namespace: "", checkpointId, parentId, terms: [n, -n], blobs: [hash], body });
  }
  const heads = [{ namespace: "", to: records.at(-1)!.checkpointId, expected: [] }];
  return { threadId, records, blobs, heads, onConflict: "refuse" };
}

test.each([
  [`${count} checkpoints`, count, 300],
  ["50 MB in two values", 2, 25_000_000],
])("a thread of %s is archived and read back, byte for byte", async (_name, count, size) => {
  const bucket = await openBucket();
  try {
    const log = new AppendLog();
    const warm = log.of(new MemoryTier());
    await warm.append(line(count, size));
    const refuse = async () => Promise.reject(new Error("the bytes are the same: nothing has to be decoded"));
    const copy = await archiveThread(
      warm,
      s3({ client: bucket.client, bucket: bucket.bucket }),
      threadId,
      refuse,
    );
    expect(copy).toMatchObject({ checkpoints: count });
    const cold = s3({ client: bucket.client, bucket: bucket.bucket });
    expect(await log.unlike(cold, threadId)).toEqual([]);
    const { checkpoint } = await s3({ client: bucket.client, bucket: bucket.bucket }).read({
      threadId,
      namespace: "",
    });
    expect(checkpoint?.record.checkpointId).toBe(String(count - 1).padStart(6, "0"));
  } finally {
    await bucket.close();
  }
});
