import { MemoryTier } from "@stratigraph/core";
import { TieredSaver } from "@stratigraph/tiered";
import { expect, test } from "vitest";
import { demoThreads } from "./support/demoThreads.ts";
import { serve } from "./support/serve.ts";

test("an archived thread is shown and downloaded, and stays in the archive", async () => {
  const warm = new MemoryTier();
  const cold = new MemoryTier();
  const saver = new TieredSaver({ warm, cold, archiveAfter: "7d" });
  await demoThreads(saver, ["old"]);
  await saver.tier.archiveThread!("old", async () => undefined);
  // Who may write looks in the same way.
  for (const allow of [["read"], ["read", "write"]] as const) {
    const served = await serve({ saver, allow });
    try {
      const shown = await served.get("/api/show?at=old");
      expect([shown.status, shown.body["thread"]]).toEqual([200, "old"]);
      expect((await served.get("/api/_value?thread=old&channel=messages")).status).toBe(200);
      expect((await warm.read({ threadId: "old", namespace: "" })).checkpoint).toBeUndefined();
    } finally {
      await served.inspector.close();
    }
  }
  await saver.end();
});
