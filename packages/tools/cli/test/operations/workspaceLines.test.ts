import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { MemorySaver } from "@stratigraph/core";
import { createWorkspace, importItems } from "@stratigraph/workspace";
import { afterAll, expect, test } from "vitest";
import { hostileId, ran } from "./support/ran.ts";

const folder = mkdtempSync(join(tmpdir(), "stratigraph-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("one agent's memory goes to a file, and from there into a workspace and into LangGraph's own store", async () => {
  const saver = new MemorySaver();
  const ada = createWorkspace(saver, "team", { agent: "ada" });
  const bob = createWorkspace(saver, "team", { agent: "bob" });
  await ada.put(["shared"], hostileId, { text: `${hostileId}\n` });
  await ada.put(["agents", "ada"], "gone", {});
  await ada.delete(["agents", "ada"], "gone");
  await ada.put(["agents", "ada"], "own", { n: 1 });
  await ada.put(["agents", "ada"], "own", { n: 2 });
  await ada.put(["shared"], "taken", {});
  await bob.put(["shared"], "taken", { by: "bob" });
  const to = join(folder, "ada.jsonl");
  const exported = await ran("workspace-export", { workspace: "team", to, agent: "ada" }, saver);
  expect(exported).toMatchObject({ output: { items: 2, to }, text: `Wrote 2 items to ${to}.` });
  const lines = readFileSync(to, "utf8").split("\n").slice(0, -1);
  const own = { namespace: ["agents", "ada"], key: "own", value: { n: 2 }, author: { agent: "ada" } };
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ namespace: ["shared"], key: hostileId }),
    { ...own, version: expect.any(Number), updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) },
  ]);
  expect(readdirSync(folder)).toEqual(["ada.jsonl"]);
  const all = await ran("workspace-export", { workspace: "team", to, prefix: "shared" }, saver);
  expect(all.output).toMatchObject({ items: 2 });

  const other = new MemorySaver();
  writeFileSync(to, `${lines.join("\r\n")}\r\n\r\n`);
  const plan = await ran("workspace-import", { workspace: "new", from: to, dryRun: true }, other);
  expect(plan).toMatchObject({ output: { items: 2 }, text: "There are 2 items. Nothing was put." });
  const imported = createWorkspace(other, "new");
  expect(await imported.version()).toBe(0);
  expect((await ran("workspace-import", { workspace: "new", from: to }, other)).text).toBe("Put 2 items.");
  expect(await imported.get(["agents", "ada"], "own")).toMatchObject({
    value: { n: 2 },
    reason: expect.stringContaining("imported from"),
  });
  const store = new InMemoryStore();
  expect(await importItems(store, lines)).toBe(2);
  expect(await store.get(["shared"], hostileId)).toMatchObject({ value: { text: `${hostileId}\n` } });
});

test("a file with a wrong line changes nothing; the error names the line", async () => {
  const saver = new MemorySaver();
  const from = join(folder, "wrong.jsonl");
  const right = JSON.stringify({ namespace: ["a"], key: "k", value: {} });
  for (const line of [
    "{",
    "null",
    "[]",
    `{"namespace":[],"key":"k","value":{}}`,
    `{"namespace":["","topics","t"],"key":"k","value":{}}`,
    `{"namespace":"a","key":"k","value":{}}`,
    `{"namespace":["a"],"key":"","value":{}}`,
    `{"namespace":["a"],"key":"k","value":[]}`,
    `{"namespace":["a"],"key":"k"}`,
    `{"namespace":["a"],"key":"k","value":{${`"x":1`.repeat(999)}`,
  ]) {
    writeFileSync(from, `${right}\n${line}\n${right}\n`);
    await expect(ran("workspace-import", { workspace: "w", from }, saver)).rejects.toMatchObject({
      code: "INVALID_OPTION",
      data: { field: "line 2" },
    });
  }
  await expect(ran("workspace-import", { workspace: "w", from: "/nowhere.jsonl" }, saver)).rejects.toThrow(
    "ENOENT",
  );
  expect(await createWorkspace(saver, "w").version()).toBe(0);
  await createWorkspace(saver, "w").put(["a"], "k", {});
  const to = join(folder, "none", "x.jsonl");
  await expect(ran("workspace-export", { workspace: "w", to }, saver)).rejects.toThrow("ENOENT");
});
