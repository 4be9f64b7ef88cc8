import { renameSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fastFolder } from "../../../../test/servers/fastFolder.ts";
import { testSetBack } from "../../../../test/setBack/testSetBack.ts";
import { FolderSaver } from "../src/index.ts";

testSetBack("folder", async () => {
  const root = await mkdtemp(join(fastFolder(), "stratigraph-set-back-"));
  const path = join(root, "threads");
  await new FolderSaver({ path }).setup();
  let copies = 0;
  return {
    open: async (options) => new FolderSaver({ path, ...options }),
    mark: async () => {
      copies += 1;
      const copy = join(root, `copy ${copies}`);
      await cp(path, copy, { recursive: true });
      return copy;
    },
    setBack: async (copy) => {
      const next = join(root, "next");
      await cp(String(copy), next, { recursive: true });
      // A process that lives on may be writing at this moment.
      renameSync(path, join(root, `lost ${String(copies)}`));
      renameSync(next, path);
    },
    close: async () => await rm(root, { recursive: true }),
  };
});
