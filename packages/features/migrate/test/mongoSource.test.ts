import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { MongoDBSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-mongodb";
import { MemorySaver } from "@stratigraph/core";
import { exportThreads, importThreads, saverTarget } from "@stratigraph/migrate";
import { mongoSource } from "@stratigraph/migrate/internal";
import { expect, test } from "vitest";
import { counting, history, say } from "./support/conversation.ts";
import { fakeMongo } from "./support/fakeMongo.ts";

test("collections come over, branches and binary writes too, and back", async () => {
  const client = fakeMongo();
  const official = new OfficialSaver({ client: client as never });
  for (const id of ["ada", "a:b", "émoji 🎉"]) for (const text of ["1", "2"]) await say(official, id, text);
  const config = { configurable: { thread_id: "ada", checkpoint_ns: "" } };
  const states = [];
  for await (const state of counting(official).getStateHistory(config)) states.push(state);
  await counting(official).invoke({ messages: ["Other"] }, states.at(-2)!.config);

  const saver = new MemorySaver();
  const source = mongoSource({ database: client.db() });
  expect(await source.plan()).toMatchObject({ threads: 3 });
  const report = await importThreads(source, saver);
  expect(report).toMatchObject({ threads: 3, differences: [], mixedUp: [] });
  for (const id of ["ada", "a:b"]) expect(await history(saver, id)).toEqual(await history(official, id));

  const back = fakeMongo();
  const there = new OfficialSaver({ client: back as never });
  const target = saverTarget(there, { source: mongoSource({ database: back.db() }), branches: true });
  expect(await exportThreads(saver, target)).toMatchObject({ threads: 3, leftOut: 0, differences: [] });
  expect(await history(there, "ada")).toEqual(await history(official, "ada"));
  expect((await say(there, "a:b", "3")).length).toBe(6);
  expect((await say(saver, "a:b", "3")).length).toBe(6);
});

test("binary pending writes, which the official saver itself reads as text", async () => {
  const client = fakeMongo();
  const official = new OfficialSaver({ client: client as never });
  const bytes = new Uint8Array([0, 159, 146, 150, 255]);
  const at = { configurable: { thread_id: "bin", checkpoint_ns: "" } };
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(0) };
  const config = await official.put(at, checkpoint, { source: "loop", step: 0, parents: {} });
  await official.putWrites(config, [["raw", bytes]], "task-1");
  const saver = new MemorySaver();
  const report = await importThreads(mongoSource({ database: client.db() }), saver);
  expect(report).toMatchObject({ writes: 1, differences: [] });
  expect((await saver.getTuple(at))!.pendingWrites).toEqual([["task-1", "raw", bytes]]);
});
