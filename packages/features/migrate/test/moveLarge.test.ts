import { MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import type { AppendRequest } from "@stratigraph/core/tier";
import { moveThreads } from "@stratigraph/migrate";
import { contentsOf, largeId, largeThread, weighed } from "../../../../test/weighedTier.ts";

// Threads that are larger than what is read and appended at once are moved in parts.

const mb = 1 << 20;
const sizes = Array<number>(20).fill(mb);

async function opened() {
  const [from, to] = [weighed(new MemoryTier()), weighed(new MemoryTier())];
  await from.tier.append(largeThread("large", sizes));
  const savers = [new TierSaver(from.tier), new TierSaver(to.tier)] as const;
  // These checkpoints have no header that could be decoded.
  for (const { coder } of savers) coder.decodeBody = () => Promise.resolve({} as never);
  return { from, to, move: () => moveThreads(...savers, { source: "delete" }) };
}

test("nothing holds more than a part of the thread, and the source goes once all of it was compared", async () => {
  const { from, to, move } = await opened();
  const before = await contentsOf(from.tier, "large");
  for (const { most } of [from, to]) most.listed = 0;
  expect(await move()).toMatchObject({ threads: 1, checkpoints: 20, writes: 20, differences: [] });
  expect(to.most.appended).toBeLessThan(8 * mb);
  for (const { most } of [from, to]) expect(most.listed).toBeLessThan(10 * mb);
  expect(await contentsOf(to.tier, "large")).toEqual(before);
  expect(await contentsOf(from.tier, "large")).toEqual([]);
});

test.each([1, 3, 5])("a move that dies before append %i is finished by the next one", async (dies) => {
  const { from, to, move } = await opened();
  const before = await contentsOf(from.tier, "large");
  to.beforeAppend = (number) => {
    if (number === dies) throw new StratigraphError("UNAVAILABLE", "gone");
  };
  await expect(move()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect((await to.tier.peek({ threadId: "large", namespace: "" })).head).toBeUndefined();
  expect(await contentsOf(from.tier, "large")).toEqual(before);
  expect(await move()).toMatchObject({ differences: [] });
  expect(await contentsOf(to.tier, "large")).toEqual(before);
});

test("a checkpoint that is pruned in the source meanwhile doesn't end the move", async () => {
  const { from, to, move } = await opened();
  to.beforeAppend = async (number) => {
    if (number !== 2) return;
    const at = { threadId: "large", namespace: "" };
    const { revision } = await from.tier.peek(at);
    const checkpoints = [{ ...at, checkpointId: largeId(20 - 4) }];
    const rest = { dropBlobs: [], replaceBlobs: [], heads: [] };
    await from.tier.remove({ threadId: "large", revision, checkpoints, ...rest });
  };
  expect(await move()).toMatchObject({ differences: [] });
  expect(await contentsOf(to.tier, "large")).toHaveLength(19);
});

test("a value that the target loses is told, and the source stays", async () => {
  const { from, to } = await opened();
  const [lost] = (await from.tier.blobs("large")).slice(9);
  const losing = new Proxy(to.tier, {
    get: (target, name) => {
      if (name === "append")
        return (request: AppendRequest) =>
          target.append({
            ...request,
            relies: false,
            blobs: request.blobs.filter(({ hash }) => hash !== lost!.hash),
          });
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const savers = [new TierSaver(from.tier), new TierSaver(losing)] as const;
  for (const { coder } of savers) coder.decodeBody = () => Promise.resolve({} as never);
  const { differences } = await moveThreads(...savers, { source: "delete" });
  expect(differences.map(({ what }) => what)).toContain("a value is missing");
  expect(await contentsOf(from.tier, "large")).toHaveLength(20);
});
