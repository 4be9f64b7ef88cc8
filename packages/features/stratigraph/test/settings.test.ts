import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createCheckpointer } from "stratigraph";
import { loadConfig } from "stratigraph/internal";
import { afterEach, beforeEach, expect, test } from "vitest";

let folder: string;
const variables = ["STRATIGRAPH_CONFIG", "STRATIGRAPH_URL", "STRATIGRAPH_ENV", "PROD_URL", "OTHER_URL"];
const before = process.cwd();

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "stratigraph-config-")));
  await mkdir(join(folder, ".git"));
  for (const name of variables) delete process.env[name];
});

afterEach(async () => {
  process.chdir(before);
  for (const name of variables) delete process.env[name];
  await rm(folder, { recursive: true });
});

async function write(file: string, text: string): Promise<string> {
  const path = join(folder, file);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

test("a config in TypeScript is found from a folder below, and its paths are relative to it", async () => {
  const file = await write(
    "stratigraph.config.ts",
    `enum Names { folder = "state" }
    const checkpointer = await Promise.resolve({ pglite: Names.folder as string });
    export default { checkpointer, graphs: { agent: "./agent.ts:graph" }, redact: ["messages.*.content"] } satisfies object;`,
  );
  await mkdir(join(folder, "src/deep"), { recursive: true });
  expect(await loadConfig({ cwd: join(folder, "src/deep") })).toEqual({
    origin: file,
    folder,
    environment: undefined,
    checkpointer: { pglite: join(folder, "state") },
    graphs: { agent: "./agent.ts:graph" },
    allow: {
      cli: ["read", "write", "destroy"],
      inspector: ["read", "write", "destroy"],
      mcp: ["read", "write", "destroy"],
    },
    redact: ["messages.*.content"],
    mcp: {},
  });
});

test("it isn't looked for above the repository", async () => {
  await write("stratigraph.config.json", JSON.stringify({ checkpointer: "memory:" }));
  await mkdir(join(folder, "inner/.git"), { recursive: true });
  const { origin, checkpointer } = await loadConfig({ cwd: join(folder, "inner") });
  expect(origin).toBe("the folder .stratigraph");
  expect(checkpointer).toEqual({ pglite: join(folder, "inner/.stratigraph") });
});

test("what was named comes before what was found", async () => {
  await write("stratigraph.config.json", JSON.stringify({ checkpointer: "memory:" }));
  const other = await write("other.json", JSON.stringify({ checkpointer: "file:./archive" }));
  const found = async (options = {}) => {
    const { origin, checkpointer } = await loadConfig({ cwd: folder, ...options });
    return [origin, checkpointer];
  };
  process.env["STRATIGRAPH_URL"] = "postgresql://localhost/a";
  expect(await found()).toEqual([join(folder, "stratigraph.config.json"), "memory:"]);
  process.env["STRATIGRAPH_CONFIG"] = other;
  expect(await found()).toEqual([other, `file:${join(folder, "archive")}`]);
  expect(await found({ file: "stratigraph.config.json" })).toEqual([
    join(folder, "stratigraph.config.json"),
    "memory:",
  ]);
  expect(await found({ url: "pglite:./x?schema=s" })).toEqual([
    "--url",
    `pglite:${join(folder, "x")}?schema=s`,
  ]);
  delete process.env["STRATIGRAPH_CONFIG"];
  await rm(join(folder, "stratigraph.config.json"));
  expect(await found()).toEqual(["STRATIGRAPH_URL", "postgresql://localhost/a"]);
});

test("an environment replaces options, and only its variables have to be set", async () => {
  await write(
    "stratigraph.config.mjs",
    `const env = (name) => "$" + "{" + name + "}";
    export default {
      checkpointer: { memory: true },
      redact: ["a"],
      environments: {
        production: { checkpointer: { hot: ["memory:"], warm: env("PROD_URL") }, allow: { cli: ["read"] } },
        other: { checkpointer: env("OTHER_URL") },
      },
    };`,
  );
  process.env["PROD_URL"] = "postgresql://user:secret@host/db";
  expect(await loadConfig({ cwd: folder, environment: "production" })).toMatchObject({
    checkpointer: { hot: ["memory:"], warm: "postgresql://user:secret@host/db" },
    allow: { cli: ["read"], mcp: ["read"] },
    redact: ["a"],
  });
  process.env["STRATIGRAPH_ENV"] = "other";
  await expect(loadConfig({ cwd: folder })).rejects.toMatchObject({
    code: "INVALID_OPTION",
    message: expect.stringContaining("checkpointer: the environment variable OTHER_URL isn't set"),
  });
  process.env["OTHER_URL"] = "";
  await expect(loadConfig({ cwd: folder })).rejects.toThrow("OTHER_URL isn't set, it is empty");
  await expect(loadConfig({ cwd: folder, environment: "nowhere" })).rejects.toThrow(
    "environments.nowhere: isn't there; expected one of production, other",
  );
});

test("every mistake is named, and no value is shown", async () => {
  await write(
    "stratigraph.config.json",
    JSON.stringify({
      checkpointer: { postgres: "postgresql://user:secret@host/db", tll: "secret" },
      graphs: { agent: "secret" },
      allow: { cli: ["reed"], mpc: [] },
      redact: "secret",
      enviroments: {},
      environments: { production: { checkpointer: "mysql://user:secret@host" } },
    }),
  );
  const error = await loadConfig({ cwd: folder }).catch((thrown: unknown) => thrown as Error);
  const { message } = error as Error;
  expect(message).not.toContain("secret");
  for (const path of [
    "checkpointer.tll",
    "graphs.agent",
    "allow.cli.0",
    "allow.mpc",
    "redact",
    "enviroments",
    "environments.production.checkpointer",
  ])
    expect(message).toContain(`\n  ${path}: `);
});

test("a file that can't be evaluated, or read, is named with the reason", async () => {
  const file = await write("stratigraph.config.ts", "export default (");
  await expect(loadConfig({ cwd: folder })).rejects.toMatchObject({ code: "MISCONFIGURED" });
  await write("stratigraph.config.ts", `throw new Error("no such weather")`);
  await expect(loadConfig({ cwd: folder })).rejects.toThrow(`${file} can't be loaded: no such weather`);
  await expect(loadConfig({ cwd: folder, file: "absent.json" })).rejects.toMatchObject({
    code: "MISCONFIGURED",
  });
});

test("the graphs of a langgraph.json count where the config names none, or where there is no config", async () => {
  const b = { path: "./b.ts:b", description: "b" };
  await write("langgraph.json", JSON.stringify({ graphs: { a: "./a.ts:a", b, wrong: null } }));
  const graphs = { a: "./a.ts:a", b: "./b.ts:b" };
  for (const url of [undefined, "memory:"])
    expect((await loadConfig({ cwd: folder, url })).graphs).toEqual(graphs);
  await write("stratigraph.config.json", JSON.stringify({ checkpointer: "memory:" }));
  expect((await loadConfig({ cwd: folder })).graphs).toEqual(graphs);
  for (const text of ["{", "null", '{ "graphs": 7 }', '{ "graphs": null }']) {
    await write("langgraph.json", text);
    expect((await loadConfig({ cwd: folder })).graphs).toEqual({});
  }
});

test("createCheckpointer() finds the config, a URL is enough, and the saver ends with its block", async () => {
  process.chdir(folder);
  const thread = { configurable: { thread_id: "ada" } };
  const say = async (checkpointer: Awaited<ReturnType<typeof createCheckpointer>>) => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", () => ({ messages: ["Hello"] }))
      .addEdge(START, "agent")
      .compile({ checkpointer });
    return (await graph.invoke({ messages: ["Hi"] }, thread)).messages.length;
  };
  let ended;
  {
    await using checkpointer = await createCheckpointer();
    expect(await say(checkpointer)).toBe(2);
    ended = checkpointer;
  }
  await expect(ended.getTuple(thread)).rejects.toMatchObject({ code: "CLOSED" });
  expect(await readdir(folder)).toContain(".stratigraph");
  await using other = await createCheckpointer("memory:");
  expect(await say(other)).toBe(2);
});

test("a password in the place of a name, or in JSON that is broken, isn't shown", async () => {
  const url = "postgresql://user:secret@host/db";
  const settings = [
    { checkpointer: { [url]: true } },
    { checkpointer: { pglite: "x", [url]: true } },
    { checkpointer: "memory:", [url]: true },
    { checkpointer: "memory:", graphs: { [url]: "x" } },
    { checkpointer: "memory:", graphs: { [url]: "${PROD_URL}" } },
    { checkpointer: "memory:", environments: { [url]: { checkpointer: 1 } } },
    { checkpointer: "postgresql://user:pass?secret&more@host/db" },
    { checkpointer: "redis://user:6379/secret@host" },
    { checkpointer: "s3://bucket?endpoint=http//u:secret@h" },
  ];
  const texts = [
    ...settings.map((each) => JSON.stringify(each)),
    `{ "checkpointer": "${url}" x`,
    `{ "checkpointer": ${url} }`,
  ];
  for (const text of texts) {
    await write("stratigraph.config.json", text);
    const error = await loadConfig({ cwd: folder })
      .then(async ({ checkpointer }) => await createCheckpointer(checkpointer as string))
      .catch((thrown: unknown) => thrown as Error & { data: object });
    expect(error, text).toBeInstanceOf(Error);
    const said = `${inspect(error, { depth: 9 })} ${JSON.stringify((error as { data?: unknown }).data)}`;
    expect(said, text).not.toMatch(/secret/);
  }
  await write("stratigraph.config.json", JSON.stringify({ checkpointer: "memory:" }));
  for (const options of [{ environment: url }, { file: url }])
    await expect(loadConfig({ cwd: folder, ...options })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.not.stringContaining("secret"),
    });
});

test("a broken line of JSON is named", async () => {
  await write("stratigraph.config.json", '{\n  "checkpointer": "memory:"\n  "redact": []\n}');
  await expect(loadConfig({ cwd: folder })).rejects.toThrow("it isn't valid JSON from line 3 on.");
});

test("an environment is refused where nothing has any, and so are empty variables", async () => {
  const refused = async (says: string, options: object = {}) => {
    await expect(loadConfig({ cwd: folder, ...options })).rejects.toMatchObject({
      code: "INVALID_OPTION",
      message: expect.stringContaining(says),
    });
  };
  const environment = "eu-production";
  await refused('found "eu-production". Only a config file has environments', { environment });
  await refused("a URL was chosen", { environment, url: "memory:" });
  process.env["STRATIGRAPH_ENV"] = environment;
  await refused("the folder .stratigraph was chosen");
  process.env["STRATIGRAPH_URL"] = "memory:";
  await refused("STRATIGRAPH_URL was chosen");
  expect((await loadConfig({ cwd: folder, url: "memory:" })).checkpointer).toBe("memory:");
  for (const name of variables.slice(0, 3)) delete process.env[name];
  for (const name of variables.slice(0, 3)) {
    process.env[name] = "";
    await refused(`${name}: found "an empty variable"`);
    delete process.env[name];
  }
  await refused("Name a config file", { file: "" });
  await refused("Name one of the config's environments", { environment: "" });
});

test("a config whose evaluation doesn't end is named", async () => {
  const file = await write("stratigraph.config.mjs", "await new Promise(() => {}); export default {};");
  await expect(loadConfig({ cwd: folder, timeout: "50ms" })).rejects.toMatchObject({
    code: "MISCONFIGURED",
    message: expect.stringMatching(/its evaluation doesn't end \(it took longer than 0.05 s\)/),
    data: { file },
  });
});
