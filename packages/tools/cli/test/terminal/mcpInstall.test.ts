// long file: stories of one command, over the same folders
import {
  chmod,
  chown as chownPath,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
  type FileHandle,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { StratigraphError } from "stratigraph";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { smallDisk } from "../../../../../test/servers/smallDisk.ts";
import { changedLines } from "../../src/terminal/clients/changedLines.ts";
import { clients, fileOf, type Places } from "../../src/terminal/clients/clients.ts";
import { planChange } from "../../src/terminal/clients/planChange.ts";
import { serverEntry } from "../../src/terminal/clients/serverEntry.ts";
import { addMcp } from "../../src/terminal/mcp.ts";
import { addSettings } from "../../src/terminal/settings.ts";
import { Screen } from "./support/screen.ts";

// The command that writes the server into a client's configuration. What it must not do is harm a file that people wrote.

let root: string;
let home: string;
let project: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "stratigraph-install-"));
  [home, project] = [join(root, "home"), join(root, "project")];
  await mkdir(home);
  await mkdir(project);
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

/** @param answer what a person types, once they are asked; without it nobody is there */
async function run(args: readonly string[], answer?: () => Promise<string> | string) {
  const [stdout, stderr, stdin] = [new Screen(), new Screen(), new Screen()];
  stdin.removeAllListeners("data");
  stderr.isTTY = stdin.isTTY = answer !== undefined;
  const terminal = { stdout, stderr, stdin, cwd: project, env: { HOME: home } };
  let code: number | undefined;
  const program = new Command("stratigraph").exitOverride().configureOutput({ writeErr: () => undefined });
  addSettings(program);
  addMcp(program, terminal, (ended) => (code = ended));
  const asked = new Promise<void>((resolve) => {
    stderr.on("data", () => /Write it\?|Which client\?/.test(stderr.text) && resolve());
  });
  const typed = answer === undefined ? undefined : asked.then(async () => stdin.write(await answer()));
  const done = program.parseAsync(["mcp", "install", ...args], { from: "user" });
  const error: unknown = await done.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (code !== undefined || error === undefined) await typed;
  return { code, error, stdout: stdout.text, stderr: stderr.text };
}

async function put(file: string, text: string | Buffer, mode = 0o644): Promise<string> {
  const path = file.startsWith("/") ? file : join(project, file);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text, { mode });
  return path;
}

const read = (file: string) => readFile(file.startsWith("/") ? file : join(project, file), "utf8");

function places(platform: NodeJS.Platform, env: Places["env"], cwd = "/work"): Places {
  return { platform, env, cwd };
}

const claude = clients.find(({ name }) => name === "claude-code")!;
const codex = clients.find(({ name }) => name === "codex")!;
const entry = { command: "npx", args: ["-y", "stratigraph", "mcp"] };
const edited = (client: typeof claude, text: string, wanted: typeof entry | undefined) =>
  planChange(client, { path: "file", bytes: undefined, text }, "stratigraph", wanted);

test("Anna has no configuration yet: it is shown, written, and the second time it is already there", async () => {
  const done = await run(["--client", "claude-code", "--allow", "write", "--threads", "acme/", "--yes"]);
  const text = `{
  "mcpServers": {
    "stratigraph": {
      "command": "npx",
      "args": ["-y", "stratigraph", "mcp", "--allow", "write", "--threads", "acme/"]
    }
  }
}
`;
  expect(done).toMatchObject({ code: 0, stdout: `${join(project, ".mcp.json")} was written.\n` });
  const shown = text
    .trim()
    .split("\n")
    .map((line) => `  + ${line}`);
  expect(done.stderr).toBe(
    [
      `Add stratigraph in ${join(project, ".mcp.json")} (Claude Code):`,
      ...shown,
      "The server's package isn't installed in this folder: npm install --save-dev stratigraph @stratigraph/cli",
      "Claude Code sees it after a restart.\n",
    ].join("\n"),
  );
  expect(await read(".mcp.json")).toBe(text);
  const { mtimeMs, ino } = await stat(join(project, ".mcp.json"));
  const again = await run(["--client", "claude-code", "--allow", "write", "--threads", "acme/", "--json"]);
  expect(again).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(again.stdout)).toEqual({
    client: "claude-code",
    file: join(project, ".mcp.json"),
    name: "stratigraph",
    action: "none",
    lines: [],
    written: false,
  });
  expect(await stat(join(project, ".mcp.json"))).toMatchObject({ mtimeMs, ino });
  expect(await readdir(project)).toEqual([".mcp.json"]);
});

test("in a pipe and in a dry run it shows all and writes nothing; on a terminal it asks, and no is the default", async () => {
  const refused = await run(["--client", "cursor"]);
  expect(refused.error).toMatchObject({ code: "INVALID_OPTION", data: { field: "yes" } });
  expect(refused.stderr).toContain('+     "stratigraph": {');
  expect(refused.stderr).toContain("Cursor doesn't start the server in this folder");
  const dry = await run(["--client", "cursor", "--dry-run", "-o", "jsonl"]);
  expect(JSON.parse(dry.stdout)).toMatchObject({ action: "add", written: false });
  const declined = await run(["--client", "cursor"], () => "\r");
  expect(declined).toMatchObject({ code: 1 });
  expect(declined.stderr).toContain("Nothing was written.");
  expect(await readdir(project)).toEqual([]);
  expect(await run(["--client", "cursor"], () => "y")).toMatchObject({ code: 0 });
  expect(JSON.parse(await read(".cursor/mcp.json"))).toEqual({ mcpServers: { stratigraph: entry } });
});

test("VS Code's file with a mark, tabs, CRLF, comments and commas at the end: all of it stays", async () => {
  const lines = [
    "\ufeff// our servers",
    "{",
    '\t"inputs": [ { "id": "key", "big": 12345678901234567890 }, ],',
    '\t"servers": {',
    '\t\t"other": { "command": "x" /* stays */, }, // and this',
    '\t\t// "old": {},',
    "\t},",
    "}",
  ];
  const text = lines.join("\r\n");
  await put(".vscode/mcp.json", text);
  await put("stratigraph.config.ts", "");
  const done = await run(["--client", "vscode", "--config", "./stratigraph.config.ts", "-y"]);
  expect(done).toMatchObject({ code: 0, error: undefined });
  const added = [
    '\t\t"stratigraph": {',
    '\t\t\t"type": "stdio",',
    '\t\t\t"command": "npx",',
    '\t\t\t"args": ["-y", "stratigraph", "mcp", "--config", "${workspaceFolder}/stratigraph.config.ts"]',
    "\t\t},",
  ];
  expect(await read(".vscode/mcp.json")).toBe(
    [...lines.slice(0, 6), ...added, ...lines.slice(6)].join("\r\n"),
  );
  const removed = await run(["--client", "vscode", "--remove", "-y", "--json"]);
  expect(JSON.parse(removed.stdout)).toMatchObject({ action: "remove", written: true });
  expect(await read(".vscode/mcp.json")).toBe(text);
  expect((await run(["--client", "vscode", "--remove"])).stdout).toContain("There is no stratigraph in");
});

test("Codex's TOML keeps comments, strings that look like tables, and the environment of our own entry", async () => {
  const text = `# mine
model = "o9" # the best
notes = """
[mcp_servers.stratigraph]
command = "not this"
"""
when = 1979-05-27 07:32:00

[mcp_servers.other]
args = [
  "]", # a bracket
]`;
  const path = await put(join(home, ".codex/config.toml"), text);
  expect(await run(["--client", "codex", "--global", "-y"])).toMatchObject({ code: 0 });
  const table = '\n\n[mcp_servers.stratigraph]\ncommand = "npx"\nargs = ["-y", "stratigraph", "mcp"]';
  expect(await read(path)).toBe(text + table);
  const own = `${table} # ours\n\n[mcp_servers.stratigraph.env]\nLEVEL = "1"\n\n[tui]\n# end\n`;
  await put(path, text + own);
  const changed = await run(["--client", "codex", "--global", "-y", "--threads", "trip"]);
  expect(changed.stderr).toMatch(/- args = .*"mcp"\] # ours\n +\+ args = .*"--threads", "trip"\] # ours\n/);
  expect(await read(path)).toBe(text + own.replace('"mcp"]', '"mcp", "--threads", "trip"]'));
  expect(await run(["--client", "codex", "--global", "-y", "--remove"])).toMatchObject({ code: 0 });
  expect(await read(path)).toBe(`${text}\n\n[tui]\n# end\n`);
});

test("an entry by our name that says something else: only what starts the server changes", async () => {
  const text = `{"mcpServers":{"a":{"env":{"TOKEN":"hush"}},"stratigraph":{"command":"node","disabled":true,"env":{"X":"1"}},"b":{}}}`;
  await put(".mcp.json", text);
  const done = await run(["--client", "claude-code", "-y"]);
  expect(await read(".mcp.json")).toBe(
    text.replace('"node"', '"npx"').replace('"X":"1"}', '"X":"1"},"args":["-y","stratigraph","mcp"]'),
  );
  expect(done.stderr).toContain("Change stratigraph in");
  expect(done.stderr).not.toContain("hush");
  await put(".mcp.json", '{"mcpServers":{"stratigraph":{"url":"http://h/mcp","headers":{"A":"b"}}}}');
  await run(["--client", "claude-code", "-y"]);
  expect(JSON.parse(await read(".mcp.json"))).toEqual({ mcpServers: { stratigraph: entry } });
});

test.each([
  "postgresql://anna:hush@h/d",
  "redis://:hush@h",
  "postgresql://anna:hu/sh?@h/d",
  "postgresql://h/d?user=anna&password=hush",
  "s3://h/b?accessKeyId=a&secretAccessKey=hush",
])("a password is never written: %s", async (url) => {
  const { error, stderr, stdout } = await run(["--client", "claude-code", "-y", "--url", url]);
  expect(error).toMatchObject({ code: "INVALID_OPTION", data: { field: "url" } });
  expect(`${String(error)}${stderr}${stdout}`).not.toMatch(/hu\/?sh/);
  expect(String(error)).toContain('env("DATABASE_URL")');
  expect(await readdir(project)).toEqual([]);
});

test.each([
  ["broken", '{\n  "mcpServers": {\n', /line 3, column 1: a name in quotes is missing/],
  ["a list", "[]", /something else where an object belongs/],
  ["null", '{"mcpServers": null}', /something else where mcpServers belongs/],
  ["UTF-16", Buffer.from("\ufeff{}", "utf16le"), /isn't in UTF-8/],
  ["nested", "[".repeat(1000), /nested too deeply/],
  ["twice there", '{"mcpServers": {"stratigraph": {}, "stratigraph": 1}}', undefined],
] as const)("a file that is %s stays as it is, and the lines to paste are told", async (_, text, why) => {
  const path = await put(".mcp.json", text);
  const { error } = await run(["--client", "claude-code", "-y"]);
  if (why === undefined) return expect(error).toBeUndefined();
  expect(error).toMatchObject({ code: "MISCONFIGURED", message: expect.stringMatching(why) });
  expect(await readFile(path)).toEqual(Buffer.from(text));
  if (typeof text === "string") expect(String(error)).toContain('"args": ["-y", "stratigraph", "mcp"]');
});

describe("what isn't sure isn't done", () => {
  test.each([
    ["an inline table", codex, 'mcp_servers = { a = { command = "x" } }\n', entry],
    ["our entry inline", codex, '[mcp_servers]\nstratigraph = { command = "x" }\n', entry],
    ["an inline table with us", codex, 'mcp_servers = { stratigraph = { command = "x" } }\n', undefined],
    ["two of us", claude, '{"mcpServers": {"stratigraph": {"a": 1}, "stratigraph": {}}}', undefined],
  ])("%s: the result is compared with what was meant", (_, client, text, wanted) => {
    const message =
      wanted === undefined ? /Take stratigraph below/ : /\[mcp_servers.stratigraph\]\ncommand = "npx"/;
    expect(() => edited(client, text, wanted)).toThrow(message);
  });
});

test("a file of which the size says that it is no configuration isn't read, and a folder isn't either", async () => {
  await truncate(await put(".mcp.json", ""), 64 * 2 ** 20 + 1);
  const { error } = await run(["--client", "claude-code", "-y"]);
  expect(error).toMatchObject({ message: expect.stringContaining("larger than 64 MB") });
  await mkdir(join(project, ".cursor/mcp.json"), { recursive: true });
  const inFolder = await run(["--client", "cursor", "-y"]);
  expect(inFolder.error).toMatchObject({ message: expect.stringContaining("isn't a file") });
});

test("a link into somebody's dotfiles stays a link, and the mode stays", async () => {
  const real = await put(join(root, "dotfiles/claude.json"), '{ "a": 1 }', 0o600);
  const link = join(home, ".claude.json");
  await symlink("../dotfiles/claude.json", link);
  const done = await run(["--client", "claude-code", "--global", "-y", "--url", "file:./data"]);
  expect(done).toMatchObject({ code: 0 });
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect((await stat(real)).mode & 0o777).toBe(0o600);
  const args = [...entry.args, "--url", `file:${join(project, "data")}`];
  expect(await read(real)).toBe(
    `{ "a": 1, "mcpServers": ${JSON.stringify({ stratigraph: { command: "npx", args } })} }`,
  );
  expect(await readdir(join(root, "dotfiles"))).toEqual(["claude.json"]);
  await chmod(real, 0o400);
  const refused = await run(["--client", "claude-code", "--global", "-y", "--remove"]);
  expect(refused.error).toMatchObject({
    code: "ACCESS_DENIED",
    message: expect.stringContaining("read-only"),
  });
  await rm(real);
  const nowhere = await run(["--client", "claude-code", "--global", "-y"]);
  expect(nowhere.error).toMatchObject({
    message: expect.stringContaining("a link to a file that isn't there"),
  });
});

test("a client that writes its file while the question stands isn't overwritten", async () => {
  const path = await put(".mcp.json", "{}");
  const raced = await run(["--client", "claude-code"], async () => {
    await put(".mcp.json", '{"mine": 1}');
    return "y";
  });
  expect(raced.error).toMatchObject({ message: expect.stringContaining("changed meanwhile") });
  expect(await read(path)).toBe('{"mine": 1}');
  const born = await run(["--client", "cursor"], async () => {
    await put(".cursor/mcp.json", "{}");
    return "y";
  });
  expect(born.error).toMatchObject({ message: expect.stringContaining("changed meanwhile") });
  expect(await readdir(join(project, ".cursor"))).toEqual(["mcp.json"]);
});

test("on a full disk the old file stays, and nothing lies beside it", async (context) => {
  const disk = smallDisk(1);
  if (disk === undefined) return context.skip();
  try {
    project = disk.folder;
    const path = await put(".mcp.json", "{}");
    await put("rest", Buffer.alloc(2 ** 20 - 4096));
    const { error } = await run(["--client", "claude-code", "-y"]);
    expect(error).toMatchObject({ code: "STORAGE_FULL", data: { systemCode: "ENOSPC", path } });
    expect(await read(path)).toBe("{}");
    expect((await readdir(project)).sort()).toEqual([".mcp.json", "rest"]);
  } finally {
    disk.remove();
  }
});

test("the new file is on the disk before it takes the old one's place, with the old one's owner", async () => {
  const path = await put(".mcp.json", "{}");
  const probe = await open(path);
  const proto = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  const texts: string[] = [];
  const sync = vi.spyOn(proto, "sync").mockImplementation(async function (this: FileHandle) {
    texts.push(await read(path));
  });
  const chown = vi.spyOn(proto, "chown");
  try {
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await chownPath(path, 1234, 1234);
    await run(["--client", "claude-code", "-y"]);
    if (isRoot) expect(await stat(path)).toMatchObject({ uid: 1234, gid: 1234 });
    // First the file, before it is moved, then its folder.
    expect(texts).toEqual(["{}", await read(path)]);
    expect(chown).toHaveBeenCalledTimes(isRoot ? 1 : 0);
  } finally {
    sync.mockRestore();
    chown.mockRestore();
  }
});

describe("whatever the file looks like", () => {
  const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

  /** Numbers from a seed, between 0 and 1. */
  function numbers(seed: number): () => number {
    let state = seed;
    return () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    };
  }

  /** JSON with the key in it, and comments, blanks and commas at random. */
  function jsonOf(random: () => number, hasComments: boolean, lineEnd: string): string {
    const blanks = ["", "", " ", lineEnd, `${lineEnd}\t`];
    const gaps = [...blanks, ...(hasComments ? [`// }"${lineEnd}`, "/* , */ "] : [])];
    const gap = (): string => pick(random, gaps);
    const value = (depth: number): string =>
      depth > 2 ? pick(random, ['"a\\"}"', "-1.5e3", "null", "[]"]) : object(["x", "y z"], depth);
    const object = (keys: readonly string[], depth: number): string => {
      const members = keys
        .filter(() => depth === 0 || random() < 0.6)
        .map((key) => `${gap()}"${key}"${gap()}:${gap()}${value(depth + 1)}${gap()}`);
      const last = hasComments && members.length > 0 && random() < 0.3 ? "," : "";
      return `{${members.join(",")}${last}${gap()}}`;
    };
    const whole = object(["__proto__", "z"], 0).replace("{", `{"mcpServers":${object(["x", "y z"], 1)},`);
    return `${pick(random, ["", "\ufeff"])}${gap()}${whole}${gap()}`;
  }

  test("JSON: an entry put in and taken out again leaves the same bytes", () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = numbers(seed);
      const text = jsonOf(random, seed % 2 === 0, seed % 3 === 0 ? "\r\n" : "\n");
      const { text: made } = edited(claude, text, entry);
      if (seed % 2 === 1) JSON.parse(made.replace("\ufeff", ""));
      // An empty object has one form after it had something in it.
      const collapsed = (each: string): string => each.replaceAll(/\{\s*\}/g, "{}");
      expect(collapsed(edited(claude, made, undefined).text), `seed ${seed}`).toBe(collapsed(text));
      expect(edited(claude, made, entry).action).toBe("none");
    }
  });

  test("TOML likewise", () => {
    const parts = [
      "# [mcp_servers.stratigraph]\n",
      "\n",
      "a = 1 # b\n",
      "[mcp_servers.'x.y']\n",
      "c = '''\n[d]'''\n",
      'args = ["]", """\n"\\"""", { e = "}" }]\n',
      "[[list]]\n",
      "mcp_servers.f.command = 'g'\n",
      "[tui] # h\n",
    ];
    let count = 0;
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = numbers(seed);
      const used = parts.filter(() => random() < 0.5).join("");
      const text = pick(random, [used, used.replaceAll("\n", "\r\n"), used.trimEnd()]);
      let made: string;
      try {
        made = edited(codex, text, entry).text;
      } catch (error) {
        if (!StratigraphError.is(error, "MISCONFIGURED")) throw error;
        continue;
      }
      count += 1;
      expect(edited(codex, made, undefined).text, `seed ${seed}`).toBe(text);
      const other = edited(codex, made, { ...entry, args: ["-y"] }).text;
      expect(edited(codex, other, entry).text).toBe(made);
    }
    expect(count).toBeGreaterThan(50);
  });
});

test("no client named: those found here are told, or offered first", async () => {
  await mkdir(join(home, ".codeium/windsurf"), { recursive: true });
  await put(".gemini/settings.json", "{}");
  const { error } = await run(["-y"]);
  expect(String(error)).toMatch(/--client. Found here: gemini-cli, windsurf. Known: claude-code, /);
  const chosen = await run(["--dry-run"], () => "\r");
  expect(chosen).toMatchObject({ code: 0 });
  expect(chosen.stdout).toContain(
    `Add stratigraph in ${join(project, ".gemini/settings.json")} (Gemini CLI):`,
  );
});

test("a wrong name, a config file that isn't there, and a folder that is a file are refused", async () => {
  for (const name of ["", "__proto__", "a.b", "x".repeat(65)]) {
    const { error } = await run(["--client", "cursor", "-y", "--name", name]);
    expect(error).toMatchObject({ code: "INVALID_OPTION", data: { field: "name" } });
  }
  const missing = await run(["--client", "cursor", "-y", "--config", "nowhere.ts"]);
  expect(missing.error).toMatchObject({
    data: { field: "config" },
    message: expect.stringContaining("no file"),
  });
  await put(".cursor", "");
  const inFile = await run(["--client", "cursor", "-y"]);
  expect(inFile.error).toMatchObject({
    code: "MISCONFIGURED",
    message: expect.stringContaining("ENOTDIR"),
  });
});

test("a client that starts the server elsewhere is told where npx finds it, and where files are", async () => {
  await mkdir(join(project, "node_modules/@stratigraph/cli"), { recursive: true });
  const here = places("linux", { HOME: home }, project);
  const given = [{ flag: "--audit", value: "./calls.jsonl" }];
  const argsOf = (name: string, global: boolean, at: Places) =>
    serverEntry(
      clients.find((client) => client.name === name)!,
      at,
      global,
      given,
    ).args.join(" ");
  const rest = "-y stratigraph mcp --audit";
  expect(argsOf("claude-code", false, here)).toBe(`${rest} ./calls.jsonl`);
  expect(argsOf("claude-desktop", false, here)).toBe(`--prefix ${project} ${rest} ${project}/calls.jsonl`);
  const folder = "${workspaceFolder}";
  expect(argsOf("vscode", false, here)).toBe(`--prefix ${folder} ${rest} ${folder}/calls.jsonl`);
  const below = places("linux", { HOME: home }, join(project, "apps/a"));
  expect(argsOf("vscode", false, below)).toBe(`--prefix ${project} ${rest} ${folder}/calls.jsonl`);
  expect((await run(["--client", "cursor", "--dry-run"])).stdout).toContain(
    `"args": ["--prefix", "${project}",`,
  );
});

test("each client's files on macOS, Windows and Linux", () => {
  const mac = places("darwin", { HOME: "/Users/anna" });
  const linux = places("linux", { HOME: "/home/anna", XDG_CONFIG_HOME: "/cfg", CODEX_HOME: "/codex" });
  const windows = places("win32", { USERPROFILE: "C:\\Users\\anna", APPDATA: "C:\\Roaming" }, "D:\\work");
  const files = (at: Places, global: boolean) =>
    Object.fromEntries(clients.map((client) => [client.name, fileOf(client, at, global)]));
  expect(files(mac, true)).toEqual({
    "claude-code": "/Users/anna/.claude.json",
    "claude-desktop": "/Users/anna/Library/Application Support/Claude/claude_desktop_config.json",
    cursor: "/Users/anna/.cursor/mcp.json",
    vscode: "/Users/anna/Library/Application Support/Code/User/mcp.json",
    codex: "/Users/anna/.codex/config.toml",
    "gemini-cli": "/Users/anna/.gemini/settings.json",
    windsurf: "/Users/anna/.codeium/windsurf/mcp_config.json",
    zed: "/Users/anna/.config/zed/settings.json",
  });
  expect(files(linux, true)).toMatchObject({
    "claude-desktop": "/cfg/Claude/claude_desktop_config.json",
    codex: "/codex/config.toml",
    zed: "/cfg/zed/settings.json",
  });
  expect(files(windows, true)).toMatchObject({
    "claude-code": "C:\\Users\\anna\\.claude.json",
    "claude-desktop": "C:\\Roaming\\Claude\\claude_desktop_config.json",
    vscode: "C:\\Roaming\\Code\\User\\mcp.json",
    zed: "C:\\Roaming\\Zed\\settings.json",
  });
  expect(files(windows, false)).toMatchObject({
    "claude-code": "D:\\work\\.mcp.json",
    cursor: "D:\\work\\.cursor\\mcp.json",
    codex: "D:\\work\\.codex\\config.toml",
  });
  expect(() => files(places("linux", {}), true)).toThrow(/set HOME/);
  const agent = { flag: "--agent", value: "-a" };
  expect(serverEntry(claude, windows, true, [agent])).toEqual({
    command: "cmd",
    args: ["/c", "npx", "-y", "stratigraph", "mcp", "--agent=-a"],
  });
  const url = { flag: "--url", value: "postgresql://h/d?a=1&b=2" };
  expect(() => serverEntry(claude, windows, true, [url])).toThrow(/The shell of Windows/);
});

test("a comment behind an entry that goes doesn't slide behind another one", () => {
  const text = '{"mcpServers": {\n  "a": {}, "stratigraph": {}, // ours\n  "b": {}\n}}';
  expect(edited(claude, text, undefined).text).toBe('{"mcpServers": {\n  "a": {},  // ours\n  "b": {}\n}}');
  const last = '{"mcpServers": {\n  "a": {},\n  "stratigraph": {} // ours\n}}';
  expect(edited(claude, last, undefined).text).toBe('{"mcpServers": {\n  "a": {}\n   // ours\n}}');
});

test("what is shown has no values of other servers, and no passwords", () => {
  expect(() => edited(codex, 'token = "hush"\nb = \n', entry)).toThrow(/^(?![^]*hush)[^]*line 2, column/);
  const other = '    "a": { "env": { "TOKEN": "hush" } }';
  const before = `{\n  "mcpServers": {\n${other}\n  }\n}\n`;
  const { text } = edited(claude, before, entry);
  expect(changedLines(before, text)).toEqual([
    "- …",
    "+ …,",
    '+     "stratigraph": {',
    '+       "command": "npx",',
    '+       "args": ["-y", "stratigraph", "mcp"]',
    "+     }",
  ]);
  expect(changedLines('a = 1\nb = "redis://anna:hush@h"', "a = 1")).toEqual(['- b = "redis://anna:…@h"']);
});
