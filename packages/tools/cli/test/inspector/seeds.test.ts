import { MemorySaver } from "@stratigraph/core";
import { expect, test } from "vitest";
import { ran } from "../operations/support/ran.ts";
import { hostileIds } from "./seeds/hostile.ts";
import { everyday, seed } from "./seeds/seed.ts";

test("the seeds are what the views are shown with", async () => {
  const saver = new MemorySaver({ threadTags: ["user_id"] });
  await seed(saver, ["hostile", ...everyday]);
  const shown = async (name: string, input: object) => (await ran(name, input, saver)).text;
  const { threads } = await saver.listThreads({ limit: 100 });
  expect(threads.map(({ threadId }) => threadId)).toEqual(expect.arrayContaining([...hostileIds]));
  expect(await shown("threads", { tag: ["user_id=anna"] })).toContain("support/4711");
  expect(await shown("conflicts", {})).toContain("cart 88");
  expect(await shown("history", { thread: "cart 88" })).toMatch(/^├/m);
  expect(await shown("history", { thread: "trip to Lisbon" })).toMatch(
    /merges .*fork trip to Lisbon\/thorough/s,
  );
  expect(await shown("history", { thread: "trip to Lisbon/cheapest" })).toContain("set price, place");
  expect(await shown("show", { at: "review/ridley" })).toContain("for an answer to an interrupt");
  expect(await shown("show", { at: "import/2026-11-22" })).toContain("failed      campagnolo");
  expect(await shown("show", { at: "support/4712" })).toMatch(/interrupt .*ambiguous/);
  const chat = await saver.getTuple({ configurable: { thread_id: "workshop chat" } });
  expect(chat!.checkpoint.channel_values["messages"]).toHaveLength(60);
  const spaces = new Set<string>();
  for await (const { config } of saver.list({ configurable: { thread_id: "research/batteries" } }))
    spaces.add(String(config.configurable!["checkpoint_ns"]));
  expect(spaces.size).toBe(2);
});
