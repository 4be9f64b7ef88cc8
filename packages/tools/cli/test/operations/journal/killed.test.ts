import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createJournal } from "@stratigraph/journal";
import { PostgresSaver } from "@stratigraph/postgres";
import { expect, onTestFinished, test } from "vitest";
import { runChild } from "../../../../../../test/servers/children.ts";
import { freshDatabase } from "../../../../../../test/servers/shared.ts";
import { ran } from "../support/ran.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import type { OutputOf } from "../../../src/operations/index.ts";
import { payingGraph } from "./payingGraph.ts";

test("a process that was killed after it paid: the question is told, answered, and the run goes on", async () => {
  const database = await freshDatabase();
  const world = join(temporaryFolder(), "world");
  const saver = PostgresSaver.fromConnString(database.url);
  onTestFinished(async () => {
    await saver.end();
    await database.drop();
  });
  await saver.setup();
  const child = await runChild(join(import.meta.dirname, "payingChild.ts"), [database.url, world]).exit;
  expect(child.signal).toBe("SIGKILL");
  const asked = await ran<OutputOf<"questions">>("questions", {}, saver);
  expect(asked.found).toBe(true);
  expect(asked.output.items).toMatchObject([
    { thread: "ada", kind: "ambiguous", tool: "pay", effects: "once", asked: false, attempts: 1 },
  ]);
  expect(asked.text).toContain('{order: "7 apples"}');
  expect(asked.text).toContain("Did it happen?");
  const { call } = asked.output.items[0]!;
  const given = { thread: "ada", call: call.slice(0, 8), author: "ops", answer: "happened" };
  const answered = await ran("answer", { ...given, result: '"receipt by phone"' }, saver);
  expect(answered.output).toMatchObject({ applied: true, call, author: "ops" });
  expect((await ran("questions", {}, saver)).output).toMatchObject({ items: [] });
  // Whoever goes on is another process, with a journal of its own.
  const journal = createJournal(saver);
  const graph = payingGraph(saver, journal, () => expect.fail("it was paid twice"));
  const { receipt } = await graph.invoke(null, { configurable: { thread_id: "ada" }, durability: "sync" });
  expect(receipt).toBe("receipt by phone");
  await journal.end();
  expect(readFileSync(world, "utf8")).toBe("paid 7 apples\n");
  const listed = await ran<OutputOf<"calls">>("calls", { thread: "ada" }, saver);
  expect(listed.output).toMatchObject({
    unresolved: 0,
    items: [{ status: "succeeded", attempts: 1, result: { value: "receipt by phone" } }],
  });
  expect(listed.output.items[0]!.entries.at(-1)!.type).toMatch(/resolved|returned/);
  expect(listed.text).toContain("found to have happened, by an operator");
  expect((await ran("audit", { thread: "ada" }, saver)).output).toMatchObject({ status: "verified" });
});
