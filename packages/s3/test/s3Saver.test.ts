import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { S3Saver } from "../src/index.ts";
import { openBucket } from "./support/bucket.ts";
import { testSavers } from "./support/savers.ts";
import { sparse } from "../../../test/rounds.ts";

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
testSavers("S3Saver on Ceph", open, sparse);
