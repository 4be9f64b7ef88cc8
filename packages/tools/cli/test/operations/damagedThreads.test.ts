import { MemoryTier, TierSaver } from "@stratigraph/core";
import { MemorySaver, type BaseCheckpointSaver } from "@langchain/langgraph";
import { exportThreads, importThreads, moveThreads, saverTarget } from "@stratigraph/migrate";
import { TieredSaver } from "@stratigraph/tiered";
import { tierSource } from "@stratigraph/migrate/internal";
import { configOf, put, text } from "../../../../engine/tiered/test/support.ts";
import { storages } from "../../../../engine/tiered/test/stacks/support/damagedStorages.ts";
import { ran } from "./support/ran.ts";

// One thread whose name is damaged ends no walk over the others.

interface Walked {
  readonly complete: boolean;
  readonly failed: number;
  readonly items: readonly { readonly thread: string }[];
}

const others = ["a", "z"];

describe.each(storages)("%s", (_name, open) => {
  const withDamaged = async (): Promise<{ saver: TierSaver; close: () => Promise<unknown> }> => {
    const { tier, damage, close } = await open();
    const saver = new TieredSaver({ warm: tier, cold: new MemoryTier() });
    await saver.setup();
    for (const id of ["a", "damaged", "z"])
      for (const step of [1, 2]) await put(saver, id, step, text(`${id} ${step}`));
    await damage("damaged");
    return { saver, close };
  };

  test.each([
    ["prune", { all: true, keepLast: 1 }],
    ["archive", { olderThan: "0s" }],
    ["delete", { olderThan: "0s" }],
  ])("%s works on the others, and tells of it", async (operation, input) => {
    const { saver, close } = await withDamaged();
    try {
      const { output, found } = await ran<Walked>(operation, input, saver);
      expect(output).toMatchObject({ complete: true, failed: 1 });
      expect(output.items).toHaveLength(3);
      expect(output.items.map(({ thread }) => thread)).toEqual(expect.arrayContaining(others));
      expect(found).toBe(true);
      const held = async (id: string): Promise<number> => {
        let checkpoints = 0;
        for await (const _ of saver.tier.list({ threadId: id, recordsOnly: true })) checkpoints += 1;
        return checkpoints;
      };
      expect(await Promise.all(others.map(held))).toEqual(
        Array(2).fill({ prune: 1, archive: 2, delete: 0 }[operation]),
      );
    } finally {
      await close();
    }
  });

  test.each(["import", "export", "move"])("%s brings the others, and tells of it", async (way) => {
    const { saver, close } = await withDamaged();
    try {
      const into = new TierSaver(new MemoryTier());
      const official = new MemorySaver();
      const report = await {
        import: () => importThreads(tierSource(saver), into),
        export: () => exportThreads(saver, saverTarget(official)),
        move: () => moveThreads(saver, into),
      }[way]!();
      const to: BaseCheckpointSaver = way === "export" ? official : into;
      expect(report.complete).toBe(true);
      expect(report.differences).toContainEqual(
        expect.objectContaining({ what: expect.stringContaining("wasn't copied") }),
      );
      for (const id of others) {
        const { checkpoint } = (await to.getTuple(configOf(id)))!;
        expect(checkpoint.channel_values).toEqual({ value: text(`${id} 2`) });
      }
    } finally {
      await close();
    }
  });
});
