import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { main } from "@stratigraph/cli";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { createCheckpointer } from "stratigraph";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { Screen } from "./support/screen.ts";
import { spawnCli, spawnOnTerminal } from "./support/spawnCli.ts";
import { allRounds } from "../../../../../test/rounds.ts";

// The command line as a process: on a real terminal, where questions are asked, and with signals and pipes that break.

let database: Awaited<ReturnType<typeof freshDatabase>>;

async function makeThreads(count: number): Promise<void> {
  await using checkpointer = await createCheckpointer(database.url);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({ messages: ["Hello"] }))
    .addEdge(START, "agent")
    .compile({ checkpointer });
  for (let n = 0; n < count; n++)
    await graph.invoke({ messages: ["Hi"] }, { configurable: { thread_id: `thread ${n}` } });
}

beforeAll(async () => {
  database = await freshDatabase();
  await makeThreads(30);
});

afterAll(async () => {
  await database.drop();
});

test("on a terminal, a deletion says what goes and asks; no is the default", async () => {
  const asked = spawnOnTerminal(["delete", "thread 0", "--url", database.url]);
  await asked.said(/Would delete 1 thread.*do it\?/s);
  asked.child.stdin?.write("\r");
  expect(await asked.ended).toMatchObject({ code: 1 });
  expect(asked.output()).toContain("Nothing was done.");
  const answered = spawnOnTerminal(["delete", "thread 0", "--url", database.url]);
  await answered.said(/do it\?/);
  answered.child.stdin?.write("y");
  expect(await answered.ended).toMatchObject({ code: 0 });
  expect(answered.output()).toContain("Deleted 1 thread");
});

test("in a pipe, and on the terminal of a CI machine, it asks nobody: it wants --yes", async () => {
  const deletion = ["delete", "thread 1", "--url", database.url];
  for (const refused of [spawnCli(deletion), spawnOnTerminal(deletion, { env: { CI: "true" } })]) {
    expect(await refused.ended).toMatchObject({ code: 1 });
    expect(refused.output()).toMatch(/Would delete 1 thread.*error INVALID_OPTION.*add --yes/s);
  }
  const done = spawnCli(["delete", "thread 1", "--yes", "--url", database.url]);
  expect(await done.ended).toMatchObject({ code: 0 });
});

test("STRATIGRAPH_READ_ONLY refuses changes, and lets them be tried", async () => {
  const env = { STRATIGRAPH_READ_ONLY: "1" };
  const refused = spawnCli(["delete", "thread 2", "--yes", "--url", database.url], env);
  expect(await refused.ended).toMatchObject({ code: 1 });
  expect(refused.output()).toContain("read-only");
  const tried = spawnCli(["delete", "thread 2", "--dry-run", "--url", database.url], env);
  expect(await tried.ended).toMatchObject({ code: 0 });
});

test("init asks where checkpoints are to be kept, and suggests what the environment says", async () => {
  const folder = await mkdtemp(join(tmpdir(), "stratigraph-init-"));
  const asked = spawnOnTerminal(["init"], { cwd: folder, env: { DATABASE_URL: "postgresql://h/d" } });
  await asked.said(/Where should checkpoints be kept/);
  asked.child.stdin?.write("\r");
  expect(await asked.ended).toMatchObject({ code: 0 });
  expect(await readFile(join(folder, "stratigraph.config.mjs"), "utf8")).toContain(
    '{ postgres: env("DATABASE_URL") }',
  );
  await rm(folder, { recursive: true });
});

test.runIf(allRounds)("a shell completes commands, options and choices", async () => {
  const said = async (...args: string[]) => {
    const running = spawnCli(args);
    expect(await running.ended).toMatchObject({ code: 0 });
    return running.output();
  };
  expect(await said("completion", "bash")).toContain("stratigraph complete --");
  expect(await said("complete", "--", "con")).toMatch(/^conflicts\t/m);
  expect(await said("complete", "--", "threads", "--fil")).toContain("--filter");
  expect(await said("complete", "--", "fork", "--history", "")).toMatch(/^full\b/m);
});

test("a reader that ends early is no error", async () => {
  const running = spawnCli(["threads", "-o", "jsonl", "-n", "1", "--url", database.url]);
  running.child.stdout?.destroy();
  expect(await running.ended).toMatchObject({ code: 0 });
});

test("Ctrl-C ends a worker after the run under way", async () => {
  const running = spawnOnTerminal(["maintain", "--every", "1d", "--yes", "--url", database.url]);
  await running.said(/steps.*: run 1/);
  running.child.stdin?.write("\u0003");
  await running.said(/Finishing what is under way/);
  expect(await running.ended).toMatchObject({ code: 0 });
});

test("a config or a graph that never settles is named, and ends with 1", async () => {
  const folder = await mkdtemp(join(tmpdir(), "stratigraph-never-"));
  const never = "await new Promise(() => {}); export const graph = {}; export default {};";
  const config = join(folder, "stratigraph.config.mjs");
  await writeFile(config, never);
  const hung = spawnOnTerminal(["threads", "-c", config]);
  expect(await hung.ended).toMatchObject({ code: 1 });
  expect(hung.output()).toMatch(
    /^error MISCONFIGURED: .*stratigraph.config.mjs can't be loaded: .*nothing is under way/m,
  );
  await writeFile(join(folder, "graph.mjs"), never);
  await writeFile(
    config,
    `export default { checkpointer: ${JSON.stringify(database.url)}, graphs: { agent: "./graph.mjs:graph" } };`,
  );
  const merged = spawnOnTerminal(["merge", "thread 3", "thread 4", "-c", config]);
  expect(await merged.ended).toMatchObject({ code: 1 });
  expect(merged.output()).toContain("waits for something that never comes");
  await rm(folder, { recursive: true });
});

test("a terminal is told what is waited for, without the password", async () => {
  const silent = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const waiting = spawnOnTerminal(["threads", "--url", `postgresql://anna:secret@127.0.0.1:${port}/db`]);
  await waiting.said(new RegExp(`Waiting for 127.0.0.1:${port} \\(--url\\)`));
  waiting.child.stdin?.write("\u0003");
  await waiting.said(/Ctrl-C again/);
  waiting.child.stdin?.write("\u0003");
  await waiting.ended;
  expect(waiting.output()).not.toContain("secret");
  silent.close();
});

test("a database that refuses connections isn't waited for in silence: who, and for how long at most", async () => {
  const refusing = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(refusing, "listening");
  const { port } = refusing.address() as AddressInfo;
  refusing.close();
  const args = [
    "threads",
    "-o",
    "json",
    "--url",
    `postgresql://anna:secret@127.0.0.1:${port}/db?retryFor=2s`,
  ];
  const piped = spawnCli(args);
  let stdout = "";
  piped.child.stdout!.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  expect(await piped.ended).toMatchObject({ code: 1 });
  const line = `Waiting for 127.0.0.1:${port} (--url): it doesn't answer (ECONNREFUSED), and is asked again for 2 s at most`;
  expect(piped.output().split(line)).toHaveLength(2);
  expect(piped.output()).toMatch(/at most\n{"error":{"code":"UNAVAILABLE"/);
  expect(stdout).toBe("");
  const quiet = spawnCli([...args, "--quiet"]);
  await quiet.ended;
  expect(quiet.output()).not.toContain("Waiting");
});

test("on a terminal, run asks what waits: by the fields of the question's schema, or for JSON", async () => {
  const folder = await mkdtemp(join(tmpdir(), "stratigraph-answers-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const hostile = `e\u001b[31mvil "quoted" '; DROP TABLE x; -- 🦊\n`;
  class LastingMemory extends MemoryTier {
    override async end(): Promise<void> {}
  }
  const tier = new LastingMemory();
  const schema = {
    type: "object",
    properties: {
      price: { type: "number", minimum: 3, title: "Price" },
      by: { enum: ["rail", "air"], title: "By" },
      sure: { type: "boolean", title: "Sure" },
      seats: { type: "array", items: { enum: ["window", "aisle"] }, title: "Seats" },
      note: { type: "string", title: hostile },
    },
    required: ["price", "by", "sure"],
  };
  const asks = interrupt as (...given: unknown[]) => unknown;
  const graph = new StateGraph(Annotation.Root({ out: Annotation<unknown> }))
    .addNode("ask", () => ({
      out: [asks("Which trip?", { responseSchema: schema }), asks(`Sure? ${hostile}`)],
    }))
    .addEdge(START, "ask")
    .compile();
  const key = `stratigraph answers ${folder}`;
  (globalThis as Record<string, unknown>)[key] = { config: { warm: tier }, graph };
  const cwd = folder;
  await writeFile(
    join(cwd, "stratigraph.config.mjs"),
    `export default { checkpointer: globalThis[${JSON.stringify(key)}].config, graphs: { agent: "./graph.mjs:graph" } };\n`,
  );
  await writeFile(join(cwd, "graph.mjs"), `export const { graph } = globalThis[${JSON.stringify(key)}];\n`);
  const saver = new TierSaver(tier);
  const on = { configurable: { thread_id: "trip" } };
  const made = graph.withConfig({});
  made.checkpointer = saver;
  await made.invoke({ out: 0 }, on);
  const state = async () => (await made.getState(on)).values as { out: unknown };

  /** @param typed what the person types at what they are asked */
  const onTerminal = async (args: readonly string[], typed: readonly (readonly [RegExp, string])[]) => {
    const [stdout, stderr, stdin] = [new Screen(), new Screen(), new Screen()];
    stdin.removeAllListeners("data");
    stderr.isTTY = stdin.isTTY = true;
    let seen = 0;
    const left = [...typed];
    stderr.on("data", () => {
      const [asked, answer] = left[0] ?? [];
      if (asked === undefined || !asked.test(stderr.text.slice(seen))) return;
      seen = stderr.text.length;
      left.shift();
      setImmediate(() => stdin.write(answer!));
    });
    const code = await main(args, { stdout, stderr, stdin, cwd, env: {} });
    expect(left).toEqual([]);
    return { code, stdout: stdout.text, stderr: stderr.text };
  };
  const later = await onTerminal(["run", "trip"], [[/Price/, "\u0003"]]);
  expect(later).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("the question waits on") as string,
  });
  expect(await state()).toEqual({ out: 0 });
  const done = await onTerminal(
    ["run", "trip"],
    [
      [/Price/, "2\r"],
      [/Expected: a number, at least 3/, "\u007f4.5\r"],
      [/By/, "\u001b[B\r"],
      [/Sure/, "\r"],
      [/Seats \(optional\)/, " \r"],
      [/vil "quoted".*optional/s, "a note\r"],
      [/Answer: JSON; anything else/, "yes, {really}\r"],
    ],
  );
  expect(done).toMatchObject({ code: 0 });
  expect(done.stderr).not.toContain("\u001b[31mvil");
  expect(await state()).toEqual({
    out: [{ price: 4.5, by: "air", sure: true, seats: ["window"], note: "a note" }, "yes, {really}"],
  });
  // Whoever reads JSON is asked nothing.
  await made.invoke({ out: 0 }, on);
  const json = await onTerminal(["run", "trip", "--json"], []);
  expect(JSON.parse(json.stdout)).toMatchObject({ interrupts: [{ node: "ask" }] });
  delete (globalThis as Record<string, unknown>)[key];
});
