import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { testTier } from "@stratigraph/testing";
import { folder, s3 } from "../src/index.ts";
import { openBucket } from "./support/bucket.ts";
import { allRounds, inRounds, sparser } from "../../../../test/rounds.ts";
import { fastFolder } from "../../../../test/servers/fastFolder.ts";

// Few rounds meet Ceph in the other files: what a bucket answers differently from a folder is theirs.
if (allRounds)
  testTier(
    "s3 on Ceph",
    async () => {
      const { client, bucket, close } = await openBucket();
      const open = () => s3({ client, bucket });
      return { tier: open(), reopen: async () => open(), close };
    },
    { requires: ["tags", "status", "leases", "deleteUnchanged"], ...sparser },
  );

testTier(
  "folder",
  async () => {
    const path = await mkdtemp(join(fastFolder(), "stratigraph-folder-"));
    const open = () => folder({ path });
    const tier = open();
    return {
      tier,
      reopen: async () => open(),
      close: async () => {
        await tier.end();
        await rm(path, { recursive: true });
      },
    };
  },
  // A tag is looked for among all threads, so that each of these ids costs the folder as many files as there are ids.
  { requires: ["tags", "status", "leases", "deleteUnchanged"], every: inRounds({ few: 4, all: 2, soak: 1 }) },
);
