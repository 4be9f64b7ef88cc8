import { TierSaver } from "@stratigraph/core";
import { createThreads } from "stratigraph";
import { describe, expect, test } from "vitest";
import { put, text } from "../../../engine/tiered/test/support.ts";
import { storages } from "../../../engine/tiered/test/stacks/support/damagedStorages.ts";

describe.each(storages)("%s", (_name, open) => {
  const filters = [{}, { owner: "ann" }, { graph_id: "agent" }, { note: "x" }];
  const hows = ["damage", "damageRecords"] as const;
  test.each(hows.flatMap((how) => filters.map((metadata) => [how, metadata] as const)))(
    "one damaged thread (%s) ends no search with %j",
    async (how, metadata) => {
      const { tier, close, ...damages } = await open();
      const damage = damages[how] ?? damages.damage;
      const saver = new TierSaver(tier, { threadTags: ["owner"] });
      try {
        await saver.setup();
        const threads = createThreads(saver);
        const own = { owner: "ann", graph_id: "agent", note: "x" };
        for (const id of ["a", "damaged", "z"]) {
          await threads.set(id, { kind: "put", metadata: own });
          await put(saver, id, 1, text(id));
        }
        await damage("damaged");
        const found: string[] = [];
        const page = { limit: 10, offset: 0, sortBy: "created_at", sortOrder: "asc" } as const;
        for await (const { thread } of threads.search({ ...page, metadata })) found.push(thread.thread_id);
        expect(found.sort()).toEqual(["a", "z"]);
      } finally {
        await saver.end();
        await close();
      }
    },
  );
});
