import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fastFolder } from "../../../test/servers/fastFolder.ts";
import { largeThread } from "../../../test/weighedTier.ts";
import { FolderStore, PackTier, type ObjectStore } from "../src/index.ts";

const mb = 1 << 20;

test("a listing reads as many checkpoints together as have 8 MB of values", async () => {
  const path = mkdtempSync(join(fastFolder(), "stratigraph-pages-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  await new PackTier(new FolderStore(path)).append(largeThread("t", Array<number>(20).fill(2 * mb)));
  let bytes = 0;
  const store = new Proxy<ObjectStore>(new FolderStore(path), {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "get") return typeof value === "function" ? value.bind(target) : value;
      return async (...args: Parameters<ObjectStore["get"]>) => {
        const found = await target.get(...args);
        if (typeof found === "object") bytes += found.bytes.length;
        return found;
      };
    },
  });
  let listed = 0;
  for await (const { record } of new PackTier(store).list({ threadId: "t" })) {
    listed += 1;
    if (listed === 1) expect(bytes).toBeLessThan(20 * mb);
    expect(record.blobs).toHaveLength(1);
  }
  expect(listed).toBe(20);
  expect(bytes).toBeGreaterThan(40 * mb);
});
