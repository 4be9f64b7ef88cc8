import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fastFolder } from "../../../test/servers/fastFolder.ts";
import { largeId, largeThread } from "../../../test/weighedTier.ts";
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

test("a listing tells the head that is among what it lists, whoever puts meanwhile", async () => {
  const path = mkdtempSync(join(fastFolder(), "stratigraph-pages-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const writer = new PackTier(new FolderStore(path));
  await writer.append(largeThread("t", [1000, 1000]));
  let reads = 0;
  const store = new Proxy<ObjectStore>(new FolderStore(path), {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "get") return typeof value === "function" ? value.bind(target) : value;
      return async (...args: Parameters<ObjectStore["get"]>) => {
        if (String(args[0]).endsWith("head")) reads += 1;
        // What is there was told; it is read now.
        if (reads === 2) {
          reads += 1;
          await writer.append(largeThread("t", [1000], 3));
        }
        return await target.get(...args);
      };
    },
  });
  const listed: string[] = [];
  const heads = new Set<string | undefined>();
  for await (const { record, head } of new PackTier(store).list({ threadId: "t" })) {
    listed.push(record.checkpointId);
    heads.add(head);
  }
  expect(reads).toBeGreaterThan(2);
  expect((await writer.peek({ threadId: "t", namespace: "" })).head).toBe(largeId(3));
  expect(listed).toEqual([largeId(2), largeId(1)]);
  expect([...heads]).toEqual([largeId(2)]);
});
