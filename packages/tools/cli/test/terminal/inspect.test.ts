import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LoadedConfig } from "stratigraph";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { storageName } from "../../src/terminal/storageText.ts";
import { runCli } from "./support/runCli.ts";
import { spawnCli, type RunningCli } from "./support/spawnCli.ts";

// The inspector as a command: what it prints, what it lets the page do, and how it ends.

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stratigraph-inspect-"));
  await writeFile(join(folder, "plain.json"), JSON.stringify({ checkpointer: `file:${folder}` }));
  const limited = { checkpointer: `file:${folder}`, allow: { inspector: ["read", "write"] } };
  await writeFile(join(folder, "limited.json"), JSON.stringify(limited));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function begun(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<RunningCli & { url: URL }> {
  const running = spawnCli(["inspect", ...args], env);
  await running.said(/Ctrl-C ends it/);
  return { ...running, url: new URL(/http:\S+/.exec(running.output())![0]) };
}

async function ask({ url }: { url: URL }, operation: string, input: object): Promise<Response> {
  return await fetch(`${url.origin}/api/${operation}`, {
    method: "POST",
    headers: { "x-stratigraph-token": url.hash.slice("#token=".length), "content-type": "application/json" },
    body: JSON.stringify(input),
  });
}

test("it prints the address of the page, answers it, and Ctrl-C ends it with 0, whoever is connected", async () => {
  const running = await begun(["--config", join(folder, "plain.json")]);
  expect(running.output()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{32}\n/);
  expect(running.output()).toContain("It may look at threads.");
  expect(await (await ask(running, "threads", {})).json()).toEqual({ items: [] });
  expect((await ask(running, "setup", {})).status).toBe(403);
  const token = running.url.hash.slice("#token=".length);
  const headers = { "x-stratigraph-token": token };
  const events = await fetch(`${running.url.origin}/api/_events?thread=ada`, { headers });
  running.child.kill("SIGINT");
  expect(await running.ended).toEqual({ code: 0, signal: null });
  await events.body?.cancel().catch(() => undefined);
});

test("with --allow the page may do more, and the address can be had as JSON", async () => {
  const args = ["--config", join(folder, "limited.json"), "--allow", "write", "--json"];
  const running = await begun(args, { STRATIGRAPH_INSPECTOR_TOKEN: "a-token-of-somebody" });
  const [line] = running.output().split("\n");
  expect(running.output()).toContain(`The page shows ${folder}.`);
  expect(JSON.parse(line!)).toEqual({
    url: expect.stringMatching(/#token=a-token-of-somebody$/) as string,
    allow: ["read", "write"],
  });
  const url = new URL((JSON.parse(line!) as { url: string }).url);
  expect((await ask({ url }, "setup", {})).status).toBe(200);
  expect((await ask({ url }, "delete", { thread: "ada" })).status).toBe(403);
  running.child.kill("SIGTERM");
  expect(await running.ended).toEqual({ code: 0, signal: null });
});

test.skipIf(process.platform !== "linux")(
  "--open tells the token to no argument of a program: the browser gets a private file, which is removed",
  async () => {
    // Stands for the browser: notes what it is given.
    const [bin, noted] = [join(folder, "bin"), join(folder, "opened")];
    await mkdir(bin);
    await writeFile(
      join(bin, "xdg-open"),
      `#!/bin/sh\nprintf '%s' "$*" > '${noted}.new' && mv '${noted}.new' '${noted}'\n`,
      { mode: 0o700 },
    );
    const env = { PATH: `${bin}:${process.env["PATH"]}`, TMPDIR: folder };
    const running = await begun(["--config", join(folder, "plain.json"), "--open"], env);
    await waitUntil("the browser", () => existsSync(noted));
    const given = await readFile(noted, "utf8");
    expect(given).toMatch(/^file:\/\/\/.*\.html$/);
    const file = fileURLToPath(given);
    expect(file.startsWith(folder)).toBe(true);
    expect(await readFile(file, "utf8")).toContain(`content="0; url=${running.url.href}"`);
    const modes = await Promise.all(
      [file, dirname(file)].map(async (each) => (await stat(each)).mode & 0o777),
    );
    expect(modes).toEqual([0o600, 0o700]);
    running.child.kill("SIGINT");
    await running.ended;
    expect(existsSync(dirname(file))).toBe(false);
  },
);

test.each([
  ["postgresql://ada:secret@db.example:6432/agents?schema=x", "postgresql://db.example:6432/agents"],
  ["redis://:secret@cache.example:6379/0", "redis://cache.example:6379/0"],
  ["postgresql://ada:se/cret@db.example/agents", "--url"],
  ["postgresql://ada:12/34@db.example/agents", "--url"],
  ["memory:?maxSize=1mb", "memory"],
  ["pglite:./threads?schema=x", "./threads"],
  [{ pglite: "/var/threads" }, "/var/threads"],
  [{ hot: "memory:", warm: "postgresql://ada:secret@db.example/agents" }, "postgresql://db.example/agents"],
  [{ memory: true as const }, "memory"],
])("of %j the page shows %s", (checkpointer, shown) => {
  const config = { checkpointer, origin: "--url" } as unknown as LoadedConfig;
  expect(storageName(config)).toBe(shown);
});

test("it refuses to allow more than the config does, ports that are taken, and hosts that others reach", async () => {
  const config = ["--config", join(folder, "limited.json")];
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const refused: [args: string[], what: RegExp][] = [
    [["--allow", "write,destroy"], /ACCESS_DENIED.*to destroy: allow\.inspector in .*limited\.json lacks it/],
    [["--allow", "write", "--read-only"], /ACCESS_DENIED.*--read-only/],
    [["--allow", "everything"], /INVALID_OPTION.*allow.*--allow write/],
    [["--port", String(port)], /MISCONFIGURED.*in use/],
    [["--port", "http"], /INVALID_OPTION.*port/],
    [["--host", "0.0.0.0"], /INVALID_OPTION.*STRATIGRAPH_INSPECTOR_TOKEN/],
  ];
  for (const [args, what] of refused) {
    const { code, stdout, stderr } = await runCli(["inspect", ...config, ...args]);
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringMatching(what)]);
  }
  server.close();
});
