import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { operations, runOperation, type Context } from "../../src/operations/index.ts";
import { openCheckpointer } from "stratigraph/internal";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { exampleProject, type ExampleProject } from "./support/exampleProject.ts";
import { runCli, type Ran } from "./support/runCli.ts";

// Every example of every operation runs as it is written.

let project: ExampleProject;
/** Of all examples that only read. */
let shared: ExampleProject;

async function newProject(): Promise<ExampleProject> {
  const made = await exampleProject();
  const report = await runCli(["verify", "-o", "json"], { cwd: made.folder });
  await writeFile(join(made.folder, "report.json"), report.stdout);
  return made;
}

beforeAll(async () => {
  shared = await newProject();
});
afterAll(() => shared.remove());

beforeEach(async ({ task }) => {
  project = examples.some(([line, effect]) => line === task.name && effect === "read")
    ? shared
    : await newProject();
});

afterEach(async () => {
  if (project !== shared) await project.remove();
});

/** The words of a command line, as a shell takes it apart; and the file that its result goes to. */
function parse(line: string): { args: string[]; file: string | undefined } {
  const [, ...words] = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
  const to = words.indexOf(">");
  return { args: to === -1 ? words : words.slice(0, to), file: to === -1 ? undefined : words[to + 1] };
}

/** Examples that name servers run in the tests of the package that reaches them. */
const isLocal = (example: string): boolean => !/:\/\/|…|\b(?:sqlite|file):/.test(example);
const examples = operations.flatMap(({ effect, examples: lines }) =>
  lines.filter(isLocal).map((line): [string, string] => [line, effect]),
);

test.each(examples)("%s", async (line, effect) => {
  // Nobody chooses fingerprints. Here one call is open; equal ones are counted in the tests of `answer`.
  const { args, file } = parse(line.replace("3f9c0a", project.call).replace("happened 25", "happened"));
  if (args[0] === "reencrypt") {
    await project.remove();
    project = await exampleProject({ encrypted: true });
  }
  // There has to be something to take back.
  if (args[0] === "undo") await runCli(["promote", "ada@head~2"], { cwd: project.folder });
  const [command, place = ""] = args;
  if (command === "import") await runCli(["export", place], { cwd: project.folder });
  if (args[1] === "import")
    await runCli(["workspace", "export", args[2]!, args[3]!], { cwd: project.folder });
  const isEndless = args[1] === "watch";
  const isWorker = args.includes("--every") || isEndless;
  const listeners = process.listenerCount("SIGINT");
  const running = runCli([...args, ...(effect === "destroy" ? ["--yes"] : [])], { cwd: project.folder });
  if (isWorker) {
    await waitUntil("a worker that listens", () => process.listenerCount("SIGINT") > listeners);
    process.emit("SIGINT");
  }
  const { code, stdout, stderr } = await running;
  expect(isEndless ? [130] : [0, 2], stderr).toContain(code);
  if (isEndless) expect(stdout).toMatch(/The same command goes on with --since \d+\n$/);
  expect(stdout).not.toBe("");
  if (file !== undefined) await writeFile(join(project.folder, file), stdout);
});

describe("--json prints what the operation returns", () => {
  test.each([
    ["threads", ["threads", "-n", "3"], { limit: 3 }],
    ["history", ["history", "ada", "-n", "4"], { thread: "ada", limit: 4 }],
    ["show", ["show", "ada@head~3"], { at: "ada@head~3" }],
    ["diff", ["diff", "ada@head~3", "ada"], { from: "ada@head~3", to: "ada" }],
    ["conflicts", ["conflicts"], {}],
    ["compare", ["compare", "ada", "bob"], { threads: ["ada", "bob"] }],
  ])("%s", async (name, args, input) => {
    const saver = openCheckpointer(project.config);
    const context: Partial<Context> = {
      saver: async () => saver,
      redact: [],
      signal: new AbortController().signal,
      progress: () => {},
    };
    const operation = operations.find((each) => each.name === name)!;
    const { stdout } = await runCli([...args, "--json"], { cwd: project.folder });
    const output = await runOperation(operation, input, context as Context);
    expect(JSON.parse(stdout)).toEqual(JSON.parse(JSON.stringify(output)));
  });
});

test("a long value is taken from a file or from standard input", async () => {
  const set = async (args: string[], stdin?: string) => {
    const ran = await runCli(["set", "ada", "title", ...args], {
      cwd: project.folder,
      ...(stdin === undefined ? {} : { stdin }),
    });
    expect(ran).toMatchObject({ code: 0 });
    return (await runCli(["show", "ada", "--channel", "title"], { cwd: project.folder })).stdout;
  };
  expect(await set(["@title.json"])).toContain(
    JSON.parse(await readFile(join(project.folder, "title.json"), "utf8")),
  );
  expect(await set(["@-"], '"from a pipe"')).toContain("from a pipe");
});

test("the config says what the command line may do", async () => {
  const text = await readFile(join(project.folder, "stratigraph.config.mjs"), "utf8");
  const limited = text.replace("graphs:", `allow: { cli: ["read"] }, graphs:`);
  await writeFile(join(project.folder, "limited.mjs"), limited);
  const refused = await runCli(["fork", "ada", "copy", "-c", "limited.mjs"], { cwd: project.folder });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(
    /ACCESS_DENIED: fork would change something, and allow\.cli in .* lacks "write"/,
  );
});

test("what happens while a graph runs is told on stderr; what it did, on stdout", async () => {
  const input = '{"messages":[{"role":"user","content":"More"}]}';
  const ran = await runCli(["run", "ada", "--input", input], { cwd: project.folder });
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr).toMatch(/^agent started\n {2}ai: Message \d+ was read\.\nagent ended after \d+ ms\n$/);
  expect(ran.stdout).toMatch(/^NODE .*\nagent +ended +\d+ ms\nada is done\. 3 checkpoints in \d+ ms\.\n$/);
  const quiet = await runCli(["run", "new", "-q", "--create", "--json", "--input", input], {
    cwd: project.folder,
  });
  expect(quiet).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(quiet.stdout)).toMatchObject({ thread: "new", outcome: "done" });
});

test("redacted values aren't shown", async () => {
  const { stdout } = await runCli(["show", "ada", "--redact", "messages.*.content"], { cwd: project.folder });
  expect(stdout).not.toContain("was read.");
  expect(stdout).toContain("facts");
});

/** Runs a command that is interrupted before it looks at any thread. */
async function interrupted(args: readonly string[]): Promise<Ran> {
  const listeners = process.listenerCount("SIGINT");
  const running = runCli(args, { cwd: project.folder });
  // It listens for the signal before it opens anything.
  while (process.listenerCount("SIGINT") === listeners) await new Promise((resolve) => setImmediate(resolve));
  process.emit("SIGINT");
  const ran = await running;
  expect(ran.stderr).toContain("Finishing what is under way");
  expect(ran.code, ran.stderr).toBe(130);
  return ran;
}

test.each([
  ["verify", []],
  ["export", ["sqlite:all.sqlite"]],
  ["move", ["production"]],
])(
  "an interrupted %s ends with 130, and says where it goes on; from there it ends well",
  async (name, args) => {
    const { stdout } = await interrupted([name, ...args]);
    const [, cursor] = /--cursor "?([^\s"]+)/.exec(stdout) ?? [];
    expect(cursor, stdout).toBeDefined();
    const rest = await runCli([name, ...args, "--cursor", cursor!], { cwd: project.folder });
    expect([0, 2], rest.stderr).toContain(rest.code);
  },
);

test("an interrupted export to a file ends with 130, leaves what was there, and has to be run again", async () => {
  const file = join(project.folder, "all.jsonl");
  expect(await runCli(["export", "all.jsonl"], { cwd: project.folder })).toMatchObject({ code: 0 });
  const whole = await readFile(file, "utf8");
  const { stdout } = await interrupted(["export", "all.jsonl"]);
  expect(stdout).toContain("Nothing was written, and what was there before is unchanged. Run it again.");
  expect(stdout).not.toContain("--cursor");
  const goingOn = await runCli(["export", "all.jsonl", "--cursor", "ada"], { cwd: project.folder });
  expect(goingOn).toMatchObject({ code: 1, stdout: "" });
  expect(goingOn.stderr).toContain("Leave out this cursor");
  expect(await readFile(file, "utf8")).toBe(whole);
  const files = await readdir(project.folder);
  expect(files.filter((name) => name.includes("all"))).toEqual(["all.jsonl"]);
});
