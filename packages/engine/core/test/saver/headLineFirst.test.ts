import { emptyCheckpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { expect, test, vi } from "vitest";

const metadata: CheckpointMetadata = { source: "loop", step: 1, parents: {} };

/** A saver whose losers become side branches, and how to put a checkpoint and list what is there. */
function opened() {
  const tier = new MemoryTier();
  const saver = new TierSaver(tier, { conflict: "branch" });
  const at = (namespace: string, id?: string) => ({
    configurable: { thread_id: "t", checkpoint_ns: namespace, checkpoint_id: id },
  });
  const put = async (id: string, parent?: string, namespace = "") => {
    await saver.put(at(namespace, parent), { ...emptyCheckpoint(), id }, metadata, {});
  };
  const list = async (options: Parameters<TierSaver["list"]>[1] = {}, namespace = "") => {
    const ids: string[] = [];
    for await (const { checkpoint } of saver.list(at(namespace), options)) ids.push(checkpoint.id);
    return ids;
  };
  const before = (id: string) => ({ before: { configurable: { checkpoint_id: id } } });
  const promote = async (id: string) => await saver.promote(at("", id));
  return { tier, put, list, before, promote };
}

/** 0 ← 1 ← 3 ← 5, the head; 2 ← 4 ← 6 left the line at 0, 7 at 3. */
async function raced() {
  const all = opened();
  await all.put("0");
  await all.put("1", "0");
  await all.put("2", "0");
  await all.put("3", "1");
  await all.put("4", "2");
  await all.put("5", "3");
  await all.put("6", "4");
  await all.put("7", "3");
  return all;
}

test("the head's line comes first, and other branches before where they left it", async () => {
  const { list } = await raced();
  expect(await list()).toEqual(["5", "7", "3", "1", "6", "4", "2", "0"]);
  expect(await list({ limit: 3 })).toEqual(["5", "7", "3"]);
});

test("each page goes on where the one before ended", async () => {
  const { list, before } = await raced();
  const all = await list();
  for (const [index, id] of all.entries()) {
    expect(await list(before(id))).toEqual(all.slice(index + 1));
    expect(await list({ ...before(id), limit: 2 })).toEqual(all.slice(index + 1, index + 3));
  }
});

test("a head that was set back comes first, then what went on from it", async () => {
  const { promote, list, before } = await raced();
  await promote("3");
  const all = ["3", "7", "5", "1", "6", "4", "2", "0"];
  expect(await list()).toEqual(all);
  for (const [index, id] of all.entries())
    expect(await list({ ...before(id), limit: 2 })).toEqual(all.slice(index + 1, index + 3));
});

test("two branches that have no common checkpoint", async () => {
  const { put, list } = opened();
  await put("1");
  await put("2");
  await put("3", "1");
  expect(await list()).toEqual(["2", "3", "1"]);
});

test("once the head is the newest again, the list is by id, as MemorySaver's", async () => {
  const { put, list, before } = await raced();
  await put("8", "5");
  expect(await list()).toEqual(["8", "7", "6", "5", "4", "3", "2", "1", "0"]);
  expect(await list(before("5"))).toEqual(["4", "3", "2", "1", "0"]);
});

test("by id: a filter, all namespaces, and what is before a checkpoint of another namespace", async () => {
  const { put, list, before } = await raced();
  expect(await list({ filter: { step: 1 } })).toEqual(["7", "6", "5", "4", "3", "2", "1", "0"]);
  await put("45");
  expect(await list(before("44"))).toEqual(["4", "3", "2", "1", "0"]);
  await put("44", undefined, "child");
  await put("46", undefined, "child");
  await put("47", undefined, "child");
  expect(await list(before("46"), "child")).toEqual(["44"]);
  expect(await list(before("45"), "child")).toEqual(["44"]);
});

test("a branch of 600 checkpoints that lost comes whole, after the head", async () => {
  const { put, list } = opened();
  const name = (number: number) => String(number).padStart(4, "0");
  await put(name(0));
  await put(name(1), name(0));
  for (let number = 2; number < 602; number += 1)
    await put(name(number), name(number === 2 ? 0 : number - 1));
  const branch = Array.from({ length: 600 }, (_, place) => name(601 - place));
  expect(await list()).toEqual([name(1), ...branch, name(0)]);
});

test("an ordinary list asks the tier once, a page once more", async () => {
  const { tier, put, list, before } = opened();
  await put("0");
  await put("1", "0");
  await put("2", "1");
  const asked = vi.spyOn(tier, "list");
  expect(await list()).toEqual(["2", "1", "0"]);
  expect(asked).toHaveBeenCalledTimes(1);
  expect(await list(before("2"))).toEqual(["1", "0"]);
  expect(asked).toHaveBeenCalledTimes(3);
});
