import { join } from "node:path";
import { lineage } from "@stratigraph/branch";
import { PostgresSaver } from "@stratigraph/postgres";
import { runChild } from "../../../../test/servers/children.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { chat, human, on } from "./support/graphs.ts";
import type { MergeMessage } from "./support/mergeChild.ts";
import { inRounds } from "../../../../test/rounds.ts";

const script = join(import.meta.dirname, "support/mergeChild.ts");
const kills = inRounds({ few: 3, all: 6 });

test("killed anywhere between forks and merges: what was acknowledged is there, what wasn't is whole or not there", async () => {
  const database = await freshDatabase();
  const saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
  const graph = chat(saver);
  const merged = new Set<string>();
  try {
    await graph.invoke({ messages: [human("base")] }, on("main"));
    for (let round = 0; round < kills; round += 1) {
      const child = runChild<MergeMessage>(script, [database.url, "main", `r${round}`]);
      // It is anywhere in what follows then.
      let seen = 0;
      await child.message(() => ++seen > 2 * round);
      expect((await child.kill()).stderr).toBe("");
      const forked = new Set<string>();
      for (const message of child.messages) {
        if (message.type === "merged") merged.add(message.fork);
        else forked.add(message.fork);
      }
      const found: string[] = [];
      for await (const { threadId } of saver.tier.threads({}))
        if (threadId.startsWith(`r${round} `)) found.push(threadId);
      expect(found).toEqual(expect.arrayContaining([...forked]));
      expect(found.length - forked.size).toBeLessThanOrEqual(1);
      for (const threadId of found) {
        expect(await lineage(saver, threadId)).toMatchObject([{ threadId: "main" }]);
        expect((await graph.getState(on(threadId))).values.messages[0]!.content).toBe("base");
      }
      // Every merge counts once, and at most the last one went unacknowledged.
      const { values, next } = await graph.getState(on("main"));
      const ids = (values.messages as { id: string }[]).map(({ id }) => id).filter((id) => /^r\d+ /.test(id));
      expect(ids).toEqual(expect.arrayContaining([...merged]));
      for (const id of ids) merged.add(id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(values.sum).toBe(1 + ids.length);
      expect(next).toEqual([]);
    }
    expect(merged.size).toBeGreaterThanOrEqual(kills - 1);
    await graph.invoke({ messages: [human("on")] }, on("main"));
    expect((await graph.getState(on("main"))).values.sum).toBe(2 + merged.size);
  } finally {
    await saver.end();
    await database.drop();
  }
});
