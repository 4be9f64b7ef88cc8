import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import Module from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../terminal/support/runCli.ts";
import { DevProject } from "./support/devProject.ts";

test("what is missing or wrong is told, with what to do", async () => {
  const empty = await mkdtemp(join(tmpdir(), "stratigraph-no-dev-"));
  const stray = await DevProject.make();
  const api = join(stray.folder, "node_modules/@langchain/langgraph-api");
  await rm(api);
  await mkdir(api);
  const listening = createServer().listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  const refused = async (what: RegExp, ...args: string[]): Promise<void> => {
    const { code, stdout, stderr } = await runCli(["dev", "--url", "memory:", ...args], { cwd: empty });
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringMatching(what)]);
  };
  const json = (value: unknown): Promise<void> =>
    writeFile(join(empty, "langgraph.json"), typeof value === "string" ? value : JSON.stringify(value));
  try {
    await refused(/MISCONFIGURED: .*langgraph\.json can't be read \(ENOENT\).*"graphs".*--langgraph/);
    await json("{");
    await refused(/MISCONFIGURED: .*langgraph\.json is no JSON/);
    for (const [value, what] of [
      [{}, /graphs/],
      [{ graphs: {} }, /graphs: name at least one graph/],
      [{ graphs: { a: "./agent.py:graph" } }, /graphs\.a: write .*TypeScript/],
      [{ graphs: { a: "./a.ts" } }, /graphs\.a: write/],
      [{ graphs: { a: "./a.ts:a" }, env: ["A"] }, /env: write the path/],
      [{ graphs: { a: "./a.ts:a" }, node_loader: "ts-node" }, /node_loader: only tsx/],
    ] as const) {
      await json(value);
      await refused(what);
    }
    await json({ graphs: { a: "./a.mjs:a" } });
    await withoutNodePath(() =>
      refused(/DRIVER_MISSING: .*npm install --save-dev --save-exact @langchain\/langgraph-api@1\.5\.1/),
    );
    await refused(/ACCESS_DENIED: .*stratigraph inspect/, "--read-only");
    const other = ["--langgraph", join(stray.folder, "langgraph.json")];
    await writeFile(join(api, "package.json"), JSON.stringify({ version: "2.0.0" }));
    await refused(
      /MISCONFIGURED: .*2\.0\.0 was never tested.*1\.5\.0 and 1\.5\.1 were.*npm install/,
      ...other,
    );
    await writeFile(join(api, "package.json"), JSON.stringify({ version: "1.5.0" }));
    await refused(
      /MISCONFIGURED: Port \d+ of 127\.0\.0\.1 is in use.*--port 2025/,
      ...other,
      "--port",
      String(port),
    );
    await refused(/INVALID_OPTION: .*port/, ...other, "--port", "http");
    // The storage is opened as the application opens it.
    const config = join(empty, "stratigraph.config.json");
    await writeFile(config, JSON.stringify({ checkpointer: { memory: true, readThrough: "nowhere" } }));
    const { stderr } = await runCli(["dev", ...other], { cwd: empty });
    expect(stderr).toMatch(/nowhere|readThrough/);
  } finally {
    listening.close();
    await stray.remove();
    await rm(empty, { recursive: true });
  }
});

/** pnpm's commands let Node find every package of the repository from anywhere. */
async function withoutNodePath(work: () => Promise<void>): Promise<void> {
  const { NODE_PATH } = process.env;
  const { _initPaths: read } = Module as unknown as { _initPaths(): void };
  delete process.env["NODE_PATH"];
  read();
  try {
    await work();
  } finally {
    if (NODE_PATH !== undefined) process.env["NODE_PATH"] = NODE_PATH;
    read();
  }
}
