import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { callbackify } from "node:util";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { main } from "@stratigraph/cli";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { operations } from "../../src/operations/index.ts";
import { openContext } from "../../src/terminal/openContext.ts";
import type { Terminal } from "../../src/terminal/terminal.ts";
import { createCheckpointer } from "stratigraph";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { putValues } from "../operations/support/threads.ts";
import { runCli } from "./support/runCli.ts";

// The command line in pipes: what is on stdout and stderr, and the exit codes.

const hostile = `e\u001b[31mvil "quoted" '; DROP TABLE x; -- 🦊\n`;
let folder: string;
let url: string;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stratigraph-cli-"));
  database = await freshDatabase();
  url = database.url;
  const checkpointer = await createCheckpointer(url);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({ messages: ["Hello"] }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
  for (const id of ["ada", "bob", hostile])
    await graph.invoke({ messages: ["Hi"] }, { configurable: { thread_id: id } });
  await checkpointer.tagThread("ada", { user: "anna", tenant: 7 });
  await checkpointer.tagThread("bob", { tenant: 7 });
  await checkpointer.end();
});

afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

test("the result, and nothing else, is on stdout: as a table, as JSON, as lines of JSON", async () => {
  const table = await runCli(["threads", "--url", url]);
  expect(table).toMatchObject({ code: 0, stderr: "" });
  expect(table.stdout).toMatch(/^THREAD +WRITTEN +HEAD\n/);
  expect(table.stdout).not.toContain("\u001b");
  expect(table.stdout.split("\n")).toHaveLength(5);
  const json = await runCli(["--url", url, "threads", "--json", "-n", "2"]);
  expect(json.stderr).toBe("");
  expect(JSON.parse(json.stdout)).toMatchObject({ items: [{}, {}], cursor: expect.any(String) });
  const lines = await runCli(["threads", "--url", url, "-o", "jsonl", "--limit", "2"]);
  const threads = lines.stdout
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { thread: string }).thread);
  expect(threads).toHaveLength(2);
  const all = await runCli(["threads", "--url", url, "-o", "jsonl"]);
  expect(all.stdout.trim().split("\n")).toHaveLength(3);
});

test("an option that is given twice counts twice", async () => {
  const tags = ["--tag", "user=anna", "--tag", "tenant=7"];
  const { stdout } = await runCli(["threads", "--url", url, "--json", ...tags]);
  expect(JSON.parse(stdout)).toMatchObject({ items: [{ thread: "ada" }] });
});

test.each([["-o", "json"], ["-o", "jsonl"], ["--json"]])(
  "%s %s: an error is one line of JSON",
  async (...format) => {
    const ran = await runCli(["history", "no\u001bbody", "--url", "memory:", ...format]);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr.trimEnd().split("\n")).toHaveLength(1);
    // oxlint-disable-next-line no-control-regex -- it must not reach a terminal
    expect(ran.stderr).not.toMatch(/\u001b/);
    expect(JSON.parse(ran.stderr)).toEqual({
      error: {
        code: "NOT_FOUND",
        message: expect.stringContaining("body"),
        help: expect.stringMatching(/^https:.*#not_found$/),
      },
    });
  },
);

test("wrong calls end with 1, and say what is wrong and what there is", async () => {
  const calls: [string[], RegExp][] = [
    [["thread"], /unknown command 'thread'.*Did you mean threads/s],
    [["threads", "--lmit", "3"], /unknown option '--lmit'.*Did you mean --limit/s],
    [
      ["threads", "--url", url, "--limit", "0"],
      /error INVALID_OPTION: Invalid input of threads: limit: expected at least 1; found "0"\./,
    ],
    [["threads", "--url", "postgresql://u:secret@h/db?shema=x"], /shema.*Did you mean schema/],
    [["threads", "--url", `pglite:${folder}/absent`], /error NOT_SET_UP: There is nothing in/],
    [["threads", "-o", "xml"], /'xml' is invalid.*table, json, jsonl/s],
  ];
  for (const [args, said] of calls) {
    const ran = await runCli(args);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toMatch(said);
    expect(ran.stderr).not.toContain("secret");
  }
  const checked = await runCli(["doctor", "--url", `pglite:${folder}/absent`]);
  expect(checked.code).toBe(2);
  expect(checked.stdout).toContain("stratigraph setup");
  expect(await readdir(folder)).toEqual([]);
});

test("help shows every operation under its heading, and its examples", async () => {
  const { code, stdout } = await runCli(["--help"]);
  expect(code).toBe(0);
  const typed = (name: string): string[] => name.split("-");
  for (const { name } of operations) expect(stdout).toMatch(new RegExp(`\\n  ${typed(name)[0]}\\b`));
  expect(stdout).toContain("Look:");
  for (const { name, summary, examples } of operations) {
    const help = await runCli([...typed(name), "--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    for (const text of [...examples, "Global Options:"]) expect(help.stdout).toContain(text);
    expect(help.stdout.replaceAll(/\s+/g, " ")).toContain(summary);
  }
});

test("init writes a config that works, once, and keeps conversations out of the repository", async () => {
  const project = await mkdtemp(join(tmpdir(), "stratigraph-init-"));
  await writeFile(join(project, ".gitignore"), "node_modules");
  await writeFile(
    join(project, "package.json"),
    JSON.stringify({ dependencies: { "@langchain/langgraph-checkpoint-sqlite": "1" } }),
  );
  const first = await runCli(["init", "--yes"], { cwd: project });
  const file = join(project, "stratigraph.config.mjs");
  expect(first).toMatchObject({ code: 0, stdout: `${file}\n` });
  expect(first.stderr).toContain("npx stratigraph import sqlite:");
  expect(await readFile(join(project, ".gitignore"), "utf8")).toBe("node_modules\n.stratigraph/\n");
  const again = await runCli(["init", "--yes"], { cwd: project });
  expect(again.code).toBe(1);
  expect(again.stderr).toContain("is there already");
  await rm(project, { recursive: true });
});

test("a listing of all threads misses none that is written to meanwhile", async () => {
  const project = await mkdtemp(join(tmpdir(), "stratigraph-beside-"));
  // Each write comes a minute after the one before.
  let clock = Date.now() - 86_400_000;
  const tier = new (class extends MemoryTier {
    // The command ends its saver.
    override async end(): Promise<void> {}
  })(() => (clock += 60_000));
  const saver = new TierSaver(tier);
  const left = new Set(Array.from({ length: 120 }, (_, n) => `thread ${n}`));
  for (const id of left) await putValues(saver, id, { n: 1 });
  (globalThis as Record<string, unknown>)["listed beside a writer"] = tier;
  await writeFile(
    join(project, "stratigraph.config.mjs"),
    'export default { checkpointer: { warm: globalThis["listed beside a writer"] } };',
  );
  // Holds the command back after each line, and meanwhile writes to threads that weren't listed yet.
  const writeBeside = callbackify(async (line: string) => {
    left.delete((JSON.parse(line) as { thread: string }).thread);
    const others = [...left].filter((_, n, all) => n === 0 || n === all.length - 1);
    for (const id of others) await putValues(saver, id, { n: 2 });
  });
  const stdout = new Writable({
    highWaterMark: 1,
    decodeStrings: false,
    write: (line: string, _encoding, done) => writeBeside(line, done),
  });
  const terminal = { stdout, stderr: new PassThrough(), stdin: Readable.from([]), env: {}, cwd: project };
  expect(await main(["threads", "-o", "jsonl"], terminal)).toBe(0);
  expect([...left]).toEqual([]);
  // Waiting for a slow reader leaves nothing on it, line after line.
  expect(["drain", "error", "close"].map((event) => stdout.listenerCount(event))).toEqual([0, 0, 0]);
  await rm(project, { recursive: true });
});

test("errors of operations are told in the words of a command line", async () => {
  const set = await runCli(["set", "ada", "nothing-like-it", '"x"', "--url", url]);
  expect(set.stderr).toContain("Pass --create to set it nevertheless.");
  const empty = await freshDatabase();
  const threads = await runCli(["threads", "--url", empty.url]);
  expect(threads.stderr).toMatch(
    /^error NOT_SET_UP: .*\n {2}The command that calls setup\(\) is "stratigraph setup"\.\n/,
  );
  await empty.drop();
});

test("the form of commands that the page and operations suggest takes no id for an option", async () => {
  const evil = "--config=./evil.mjs";
  const looked = await runCli(["show", "--url", url, `--namespace=${evil}`, "--", evil]);
  expect(looked.code).toBe(1);
  expect(looked.stderr).toContain(`"${evil}"`);
  expect(looked.stderr).not.toContain("SETTINGS");
});

test.each([["threads"], ["inspect"], ["mcp"]])(
  "%s whose config can't be read leaves nothing behind that listens for Ctrl-C",
  async (name) => {
    const broken = join(folder, "broken.mjs");
    await writeFile(broken, "export default { checkpointer:");
    const before = process.listenerCount("SIGINT");
    const { code } = await runCli([name, "--config", broken]);
    expect(code).not.toBe(0);
    expect(process.listenerCount("SIGINT")).toBe(before);
  },
);

test("doctor --graph takes a graph's file and says by its exit code whether it can load all threads; servers take no files", async () => {
  const files = {
    "fits.mjs": `export const graph = new StateGraph(MessagesAnnotation)`,
    "named.mjs": `export const other = 1; export const agent = () => new StateGraph(Annotation.Root({ text: Annotation }))`,
  };
  const imports = `import { Annotation, MessagesAnnotation, START, StateGraph } from ${JSON.stringify(import.meta.resolve("@langchain/langgraph"))};\n`;
  for (const [name, made] of Object.entries(files))
    await writeFile(
      join(folder, name),
      `${imports}${made}.addNode("agent", () => ({})).addEdge(START, "agent").compile();\n`,
    );
  const asked = (graph: string, ...more: string[]) =>
    runCli(["doctor", "--graph", graph, "--url", url, ...more], { cwd: folder });
  expect(await asked("./fits.mjs")).toMatchObject({
    code: 0,
    stdout: "The graph can load 3 threads: all that were looked at.\n",
  });
  const bad = await asked("named.mjs:agent", "--json");
  expect(bad.code).toBe(2);
  expect(JSON.parse(bad.stdout)).toMatchObject({ graph: { threads: 3, bad: 3, kinds: { channel: 3 } } });
  expect((await asked("./named.mjs")).stderr).toContain("exports agent, other: name the graph");
  expect((await asked("./none.mjs")).stderr).toContain("There is no file");
  await writeFile(join(folder, "throws.mjs"), `throw new Error("no key in the environment");`);
  expect((await asked("./throws.mjs")).stderr).toContain(
    `${join(folder, "throws.mjs")} can't be loaded: no key in the environment`,
  );
  const context = await openContext({
    terminal: { cwd: folder } as Terminal,
    settings: { url, output: "json" },
    effect: "read",
    signal: new AbortController().signal,
    progress: () => undefined,
  });
  await expect(context.context.graph("./fits.mjs")).rejects.toMatchObject({ code: "NOT_FOUND" });
  await context.close();
});
