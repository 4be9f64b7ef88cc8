import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { MemorySaver } from "@stratigraph/core";
import { operations, runOperation, type Progress } from "../../src/operations/index.ts";
import Database from "libsql";
import { afterAll, expect, test } from "vitest";
import { testContext } from "./support/testContext.ts";

const folder = mkdtempSync(join(tmpdir(), "stratigraph-transfer-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const named = (name: string) => operations.find((each) => each.name === name)!;
const hostile = "e\u001b[31mvil";

async function saverWith(ids: readonly string[]): Promise<MemorySaver> {
  const saver = new MemorySaver();
  for (const id of ids) await chat(saver, id);
  return saver;
}

async function chat(saver: BaseCheckpointSaver, threadId: string): Promise<number> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({ messages: ["Hello"] }))
    .addEdge(START, "agent")
    .compile({ checkpointer: saver });
  const { messages } = await graph.invoke({ messages: ["Hi"] }, { configurable: { thread_id: threadId } });
  return messages.length;
}

const rendered = async (name: string, input: object, context: ReturnType<typeof testContext>) => {
  const operation = named(name);
  const output = await runOperation(operation, input, context);
  return {
    output: output as Record<string, unknown>,
    text: [...operation.render(output)].join("\n"),
    found: operation.found?.(output),
  };
};

test("export and import: a plan first, then a file, read back and compared", async () => {
  const context = testContext(await saverWith(["ada", "bob", hostile]));
  const to = join(folder, "threads.jsonl.zst");
  const plan = await rendered("export", { to, dryRun: "true" }, context);
  expect(plan.text).toBe("There are 3 threads. Nothing was copied.");
  const exported = await rendered("export", { to }, context);
  expect(exported.text).toBe(
    "Exported: 3 threads; 9 checkpoints and 9 pending writes were copied.\nRead back and compared: everything is there.",
  );
  expect(exported.found).toBe(false);

  const told: Progress[] = [];
  const saver = new MemorySaver();
  const target = testContext(saver, { onProgress: (progress) => told.push(progress) });
  const counted = await rendered("import", { from: to, dryRun: true }, target);
  expect(counted.text).toBe("There are 3 threads, 9 checkpoints. Nothing was copied.");
  expect(await rendered("import", { from: to, thread: "ada" }, target)).toMatchObject({
    output: { threads: 1 },
  });
  const rest = await rendered("import", { from: to }, target);
  expect(rest.text).toContain("Imported: 3 threads, 1 of them there already; 6 checkpoints");
  expect(told.at(-1)).toMatchObject({ done: 3, total: 3, unit: "threads" });
  expect(await chat(saver, hostile)).toBe(4);
});

test("move: interrupted and continued; the threads stay here, too", async () => {
  const from = await saverWith(["ada", "bob", hostile]);
  const to = new MemorySaver();
  const places = { production: to };
  const ended = testContext(from, { places, signal: AbortSignal.abort() });
  const first = await rendered("move", { to: "production" }, ended);
  expect(first.output).toMatchObject({ complete: false, threads: 1, cursor: "ada" });
  expect(first.text).toContain('Interrupted. Go on with --cursor "ada"');
  expect(first.text).not.toContain("stratigraph.config.json");
  const context = testContext(from, { places });
  const rest = await rendered("move", { to: "production", cursor: "ada" }, context);
  expect(rest.output).toMatchObject({ complete: true, threads: 2, differences: [] });
  // Nothing else tells that the application still writes to the other storage.
  expect(rest.text).toContain("To go on there, name that storage in stratigraph.config.json");
  expect((await from.listThreads()).threads).toHaveLength(3);
  expect(await chat(to, "bob")).toBe(4);
});

test("export to a file: relative paths begin in the context's folder", async () => {
  const cwd = mkdtempSync(join(folder, "cwd-"));
  const context = testContext(await saverWith(["ada"]), { cwd });
  await rendered("export", { to: "ada.jsonl" }, context);
  await rendered("export", { to: "file:./again.jsonl" }, context);
  expect(readdirSync(cwd).sort()).toEqual(["ada.jsonl", "again.jsonl"]);
  const target = testContext(new MemorySaver(), { cwd });
  const brought = await rendered("import", { from: "ada.jsonl" }, target);
  expect(brought.output).toMatchObject({ threads: 1, differences: [] });
});

test("export to a file: interrupted, it leaves nothing and offers no cursor; a cursor is refused", async () => {
  const saver = await saverWith(["ada", "bob"]);
  const to = join(mkdtempSync(join(folder, "interrupted-")), "all.jsonl");
  await rendered("export", { to }, testContext(saver));
  const whole = readFileSync(to);
  const ended = testContext(saver, { signal: AbortSignal.abort() });
  const interrupted = await rendered("export", { to }, ended);
  expect(interrupted.output).toMatchObject({ complete: false, threads: 0, checkpoints: 0, verified: false });
  expect(interrupted.output).not.toHaveProperty("cursor");
  expect(interrupted.text).toBe(
    "Interrupted. Nothing was written, and what was there before is unchanged. Run it again.",
  );
  const goingOn = rendered("export", { to, cursor: "ada" }, testContext(saver));
  await expect(goingOn).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(goingOn).rejects.toThrow("Leave out this cursor");
  expect(readFileSync(to)).toEqual(whole);
  expect(readdirSync(dirname(to))).toEqual(["all.jsonl"]);
});

test("import: a thread that can't be read is found, and the others come over", async () => {
  const path = join(mkdtempSync(join(folder, "damaged-")), "threads.sqlite");
  const database = new Database(path);
  const official = new SqliteSaver(database as never);
  for (const id of ["ada", hostile]) await chat(official, id);
  database.prepare("update checkpoints set checkpoint = 'x' where thread_id = ?").run(hostile);
  database.close();
  const saver = new MemorySaver();
  const brought = await rendered("import", { from: `sqlite:${path}` }, testContext(saver));
  expect(brought).toMatchObject({ found: true, output: { complete: true, threads: 2, checkpoints: 3 } });
  expect(brought.text).toMatch(
    /DIFFERENT FROM THE SOURCE\n.*vil.*the thread wasn't copied.*the checkpoint can't be decoded/,
  );
  expect(brought.text).not.toContain("everything is there");
  expect(brought.text).not.toContain("\u001b");
  expect(await chat(saver, "ada")).toBe(4);
});

test("a thread that was continued on both sides is found, shown without its escape codes, and left alone", async () => {
  const from = await saverWith([hostile]);
  const to = new MemorySaver();
  const context = testContext(from, { places: { production: to } });
  await rendered("move", { to: "production" }, context);
  await chat(from, hostile);
  await chat(to, hostile);
  const again = await rendered("move", { to: "production" }, context);
  expect(again).toMatchObject({ found: true, output: { diverged: [hostile], checkpoints: 0 } });
  expect(again.text).toContain("CONTINUED ON BOTH SIDES");
  expect(again.text).not.toContain("\u001b");
});

test("a source that isn't known is told, without its password", async () => {
  const run = rendered("import", { from: "oracle://me:secret@host" }, testContext(new MemorySaver()));
  await expect(run).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(run).rejects.not.toThrow("secret");
});

test("a move into a memory, which ends with the command, is refused", async () => {
  const context = testContext(await saverWith(["ada"]));
  await expect(rendered("move", { to: "memory:" }, context)).rejects.toMatchObject({
    code: "INVALID_OPTION",
    data: { field: "to" },
  });
});
