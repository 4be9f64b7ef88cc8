import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { available } from "./available.ts";
import { BUNDLES } from "./childProgram.ts";
import { runChild } from "./children.ts";
import { isAlive, waitUntil } from "./process.ts";
import { allRounds } from "../rounds.ts";

const script = join(import.meta.dirname, "fixtures/obedientChild.ts");
type Message = {
  args?: string[];
  word?: string;
  rows?: unknown[];
  serverPid?: number;
  program?: string;
  source?: string;
};

afterEach(() => void vi.unstubAllEnvs());

const shared = available.postgres || process.env["STRATIGRAPH_TEST_POSTGRES_URL"] !== undefined;
test.skipIf(!shared)(
  "a child gets arguments and environment, reaches the shared server, and its exit code is seen",
  async () => {
    const child = runChild<Message>(script, ["a", "b c"], { env: { WORD: "hello" } });
    expect(await child.message(() => true)).toEqual({ args: ["a", "b c"], word: "hello" });
    child.send("database");
    expect((await child.message((message) => "rows" in message)).rows).toEqual([{ one: 1 }]);
    child.send("end");
    expect(await child.exit).toMatchObject({ code: 7, signal: null });
    expect(child.messages).toHaveLength(2);
    await expect(child.message((message) => "serverPid" in message)).rejects.toThrow("ended (7)");
  },
);

test.skipIf(!available.redis)(
  "a server ends with the process that started it, also when that is killed",
  async () => {
    const child = runChild<Message>(script);
    await child.message(() => true);
    child.send("server");
    const { serverPid = 0 } = await child.message((message) => "serverPid" in message);
    expect(isAlive(serverPid)).toBe(true);
    expect((await child.kill()).signal).toBe("SIGKILL");
    await waitUntil("the server to end", () => !isAlive(serverPid), { timeoutMs: 5_000 });
  },
);

/** What a child runs, and what it takes itself for. */
async function placeOf(): Promise<Message> {
  const child = runChild<Message>(script);
  child.send("place");
  const place = await child.message((message) => "program" in message);
  await child.kill();
  return place;
}

test("a child is a bundle that takes itself for its source", async () => {
  const program = join(process.env[BUNDLES]!, "test/servers/fixtures/obedientChild.mjs");
  expect(await placeOf()).toEqual({ program, source: pathToFileURL(script).href });
});

test.runIf(allRounds)("a child without a bundle is its source", async () => {
  vi.stubEnv(BUNDLES, undefined);
  expect(await placeOf()).toEqual({ program: script, source: pathToFileURL(script).href });
  vi.stubEnv(BUNDLES, import.meta.dirname);
  expect(await placeOf()).toMatchObject({ program: script });
});

// LangChain is in the bundles: a library that stays where it is installed would import another copy of its classes.
test("no library outside the bundles is LangChain's or imports it", () => {
  const folder = process.env[BUNDLES]!;
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const code = files.map((file) => (file.endsWith(".mjs") ? readFileSync(join(folder, file), "utf8") : ""));
  const installed = /"(file:[^"]*\/node_modules\/(?:@[^/"]+\/)?[^/"]+)\/[^"]*"/g;
  const folders = new Set(code.flatMap((text) => [...text.matchAll(installed)].map(([, url]) => url!)));
  const libraries = [...folders].map((url) => {
    const manifest = readFileSync(new URL(`${url}/package.json`), "utf8");
    return JSON.parse(manifest) as Record<string, object> & { name: string };
  });
  expect(libraries.map(({ name }) => name)).toContain("pg");
  for (const { name, dependencies, peerDependencies } of libraries)
    for (const imported of [name, ...Object.keys({ ...dependencies, ...peerDependencies })])
      expect(imported, name).not.toMatch(/^@langchain\//);
});
