import { MemorySaver as OfficialMemory } from "@langchain/langgraph-checkpoint";
import { TierSaver, type Tier } from "@stratigraph/core";
import type { AppendRequest } from "@stratigraph/core/tier";
import { importThreads, saverSource } from "@stratigraph/migrate";
import { inRounds } from "../../../../../../test/rounds.ts";
import { tierWith } from "../../../../../features/migrate/test/support/tierWith.ts";
import { runOperation } from "@stratigraph/cli/operations";
import { testContext } from "../support/testContext.ts";
import { on, operationNamed, repaired, storages, turns, verified } from "./support.ts";

// A copy of a thread was interrupted before it got its heads: it is no thread yet, and no thread that lost its head.

const wanted = inRounds<(keyof typeof storages)[]>({
  few: ["memory"],
  all: ["memory", "folder", "postgres", "redis", "s3"],
});

/** A storage whose process dies before it moves heads. */
const dying = (tier: Tier): Tier =>
  tierWith(tier, {
    append: async (request: AppendRequest) => {
      if (request.heads.some(({ namespace }) => namespace === "")) throw new Error("killed");
      return await tier.append(request);
    },
  });

test.each(wanted)(
  "in %s, an import that was killed: pruning and repair leave it alone, verify tells, and it is repeated",
  async (name) => {
    const storage = await storages[name]();
    onTestFinished(() => storage.close());
    const open = (): TierSaver => new TierSaver(storage.open());
    const official = new OfficialMemory();
    await turns(official, "ada", 2);
    const source = saverSource(official);
    await expect(importThreads(source, new TierSaver(dying(storage.open())))).rejects.toThrow("killed");
    await open().prune(["ada"], { strategy: "keep_latest" });
    const report = await verified(storage.open(), { threads: ["ada"] });
    expect(report.findings).toMatchObject([{ kind: "wrong-head", severity: "warning", thread: "ada" }]);
    expect(report.findings[0]!.meaning).toContain("A copy of this thread");
    const { results } = await repaired(storage.open(), report);
    expect(results).toMatchObject([{ outcome: "impossible" }]);
    expect(results[0]!.action).toContain("repeat the import");
    expect(await open().getTuple(on("ada"))).toBeUndefined();
    expect(await importThreads(source, open())).toMatchObject({ differences: [], diverged: [] });
    const [head, original] = await Promise.all([open().getTuple(on("ada")), official.getTuple(on("ada"))]);
    expect(head?.checkpoint).toEqual(original?.checkpoint);
    expect((await verified(storage.open())).findings).toEqual([]);
  },
);

test.each(wanted)("in %s, a thread that lost its only head is promoted, as repair says", async (name) => {
  const storage = await storages[name]();
  onTestFinished(() => storage.close());
  const open = (): TierSaver => new TierSaver(storage.open());
  await turns(open(), "ada", 2);
  const { checkpoint } = (await open().getTuple(on("ada")))!;
  const tier = storage.open();
  const { revision } = await tier.peek({ threadId: "ada", namespace: "" });
  const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [] };
  await tier.remove({ threadId: "ada", revision, ...nothing, heads: [{ namespace: "" }] });
  const { results } = await repaired(storage.open(), await verified(storage.open(), { threads: ["ada"] }));
  const [, at, newest] = /stratigraph promote '(\w+)' --checkpoint ([^ ]+)\./.exec(results[0]!.action)!;
  await runOperation(operationNamed("promote"), { at, checkpoint: newest }, testContext(open()));
  expect((await open().getTuple(on("ada")))?.checkpoint).toEqual(checkpoint);
  expect((await verified(storage.open())).findings).toEqual([]);
});
