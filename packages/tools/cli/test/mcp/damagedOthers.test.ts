import { TieredSaver } from "@stratigraph/tiered";
import { put, text } from "../../../../engine/tiered/test/support.ts";
import { storages } from "../../../../engine/tiered/test/stacks/support/damagedStorages.ts";
import { ScopedTier } from "../../src/mcp/scopedTier.ts";

test.each(storages)(
  "%s: a client for some threads isn't told that another one is damaged",
  async (_name, open) => {
    const { tier, damage, damageHead = damage, close } = await open();
    try {
      const saver = new TieredSaver({ warm: tier });
      await saver.setup();
      for (const id of ["acme-1", "acme-2", "acme-3", "bob"]) await put(saver, id, 1, text(id));
      await damageHead("bob");
      const scoped = new ScopedTier(tier, ["acme-"]);
      const lists = async () => {
        const found: [string[], string[]] = [[], []];
        for await (const { threadId } of scoped.threads({})) found[0].push(threadId);
        for await (const { record } of scoped.list({ recordsOnly: true })) found[1].push(record.threadId);
        return found.map((ids) => ids.sort());
      };
      const all = ["acme-1", "acme-2", "acme-3"];
      expect(await lists()).toEqual([all, all]);
      await damage("acme-2");
      const told: unknown[] = [];
      for await (const _ of scoped.threads({ onDamaged: (error) => told.push(error) }));
      expect(JSON.stringify(told)).not.toContain("bob");
    } finally {
      await close();
    }
  },
);
