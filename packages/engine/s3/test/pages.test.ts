import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fastFolder } from "../../../../test/servers/fastFolder.ts";
import { largeId, largeThread } from "../../../../test/weighedTier.ts";
import { PackTier, type ObjectStore } from "../src/index.ts";
import { FolderStore } from "../src/internal.ts";

const mb = 1 << 20;

/** A store in a new folder, and the same one as another process has it, whose every `get` goes through `through`. */
function stores(
  through: (get: () => ReturnType<ObjectStore["get"]>, name: string) => ReturnType<ObjectStore["get"]>,
) {
  const path = mkdtempSync(join(fastFolder(), "stratigraph-pages-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const watched = new Proxy<ObjectStore>(new FolderStore(path), {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "get") return typeof value === "function" ? value.bind(target) : value;
      return (...args: Parameters<ObjectStore["get"]>) => through(() => target.get(...args), args[0]);
    },
  });
  return { plain: new FolderStore(path), watched };
}

test("a listing reads as many checkpoints together as have 8 MB of values", async () => {
  let bytes = 0;
  const { plain, watched } = stores(async (get) => {
    const found = await get();
    if (typeof found === "object") bytes += found.bytes.length;
    return found;
  });
  await new PackTier(plain).append(largeThread("t", Array<number>(20).fill(2 * mb)));
  let listed = 0;
  for await (const { record } of new PackTier(watched).list({ threadId: "t" })) {
    listed += 1;
    if (listed === 1) expect(bytes).toBeLessThan(20 * mb);
    expect(record.blobs).toHaveLength(1);
  }
  expect(listed).toBe(20);
  expect(bytes).toBeGreaterThan(40 * mb);
});

test("a listing tells the head that is among what it lists, whoever puts meanwhile", async () => {
  let reads = 0;
  const { plain, watched } = stores(async (get, name) => {
    if (name.endsWith("head")) reads += 1;
    // What is there was told; it is read now.
    if (reads === 2) {
      reads += 1;
      await writer.append(largeThread("t", [1000], 3));
    }
    return await get();
  });
  const writer = new PackTier(plain);
  await writer.append(largeThread("t", [1000, 1000]));
  const listed: string[] = [];
  const heads = new Set<string | undefined>();
  for await (const { record, head } of new PackTier(watched).list({ threadId: "t" })) {
    listed.push(record.checkpointId);
    heads.add(head);
  }
  expect(reads).toBeGreaterThan(2);
  expect((await writer.peek({ threadId: "t", namespace: "" })).head).toBe(largeId(3));
  expect(listed).toEqual([largeId(2), largeId(1)]);
  expect([...heads]).toEqual([largeId(2)]);
});
