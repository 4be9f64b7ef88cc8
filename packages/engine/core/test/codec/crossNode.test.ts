import { execFile } from "node:child_process";
import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChildReport } from "./crossNodeChild.ts";
import { nodeBinary } from "./nodeBinary.ts";
import { inRounds } from "../../../../../test/rounds.ts";
import { childProgram } from "../../../../../test/servers/childProgram.ts";

const run = promisify(execFile);
const { path, execArgv } = childProgram(join(import.meta.dirname, "crossNodeChild.ts"));

/** 22.15 has zstd and ignores dictionaries without a word: what the feature test is for. */
const supported = [
  { name: "20", version: "20.19.5", native: false, nativeDictionary: false },
  { name: "22.15", version: "22.15.0", native: true, nativeDictionary: false },
  { name: "22", version: "22.23.3", native: true, nativeDictionary: true },
  { name: "24", version: "24.21.0", native: true, nativeDictionary: true },
] as const;
/** With few rounds the oldest, and the newest. */
const versions = inRounds({ few: [supported[0], supported[3]], all: [...supported] });

let root: string;
const binaries = new Map<string, string>();
const folder = (name: string): string => join(root, name);

async function inNode(name: string, ...args: string[]): Promise<ChildReport> {
  const { stdout } = await run(binaries.get(name)!, [...execArgv, path, ...args], { timeout: 60_000 });
  return JSON.parse(stdout) as ChildReport;
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "stratigraph-codec-"));
  for (const { name, version } of versions) {
    binaries.set(name, await nodeBinary(name, version));
    await mkdir(folder(name));
  }
}, 300_000);

afterAll(() => rm(root, { recursive: true, force: true }));

describe("frames and packed bytes across Node versions", () => {
  it.each(versions)("Node $version writes, with what it has", async ({ name, native, nativeDictionary }) => {
    const report = await inNode(name, "write", folder(name));
    expect(report).toMatchObject({ native, nativeDictionary, failures: [] });
    // 10 samples; WASM and the chosen one: three dictionaries and packed; native: packed, and what it can.
    expect(report.files).toBe(80 + (native ? (nativeDictionary ? 40 : 20) : 0));
  });

  it.each(versions)("Node $version reads what every Node wrote", async ({ name }) => {
    const report = await inNode(name, "read", ...versions.map((writer) => folder(writer.name)));
    expect(report.failures).toEqual([]);
    expect(report.files).toBe(inRounds({ few: 80 + 120, all: 80 + 100 + 120 + 120 }));
  });

  it.each(versions)("Node $version refuses hostile frames in every implementation", async ({ name }) => {
    expect((await inNode(name, "refuse")).failures).toEqual([]);
  });
});
