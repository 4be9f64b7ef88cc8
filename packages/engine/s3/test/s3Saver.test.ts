import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { S3Saver } from "../src/index.ts";
import { openBucket } from "./support/bucket.ts";
import { testSavers } from "./support/savers.ts";
import { allRounds, sparser } from "../../../../test/rounds.ts";

let shared: Awaited<ReturnType<typeof openBucket>>;
let prefixes = 0;

beforeAll(async () => {
  shared = await openBucket();
});
afterAll(() => shared.close());

/** Every saver has a prefix of its own in one bucket. */
const open = async (serde?: SerializerProtocol) => {
  prefixes += 1;
  const prefix = `p${prefixes}`;
  const { client, bucket } = shared;
  const second = async () => new S3Saver({ client, bucket, prefix, serde });
  return { saver: await second(), second, close: async () => undefined };
};
// What is Ceph's own: folderSaver.test.ts does more of the rest, at a tenth of the time.
testSavers("S3Saver on Ceph", open, sparser, allRounds);
