import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StratigraphError } from "@stratigraph/core";
import { expect, test } from "vitest";
import { runChild } from "../../../test/servers/children.ts";
import { lockFolder } from "../src/connection/lockFolder.ts";
import type { LockMessage } from "./support/lockChild.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stratigraph-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a second taker is told who holds the folder, also in the same process", () => {
  const release = lockFolder(folder);
  const taken = (): unknown => {
    try {
      lockFolder(folder)();
    } catch (error) {
      return error;
    }
    return undefined;
  };
  const error = taken();
  expect(StratigraphError.is(error, "LOCKED")).toBe(true);
  expect(error).toMatchObject({ data: { folder, pid: process.pid } });
  release();
  expect(taken()).toBeUndefined();
  expect(existsSync(join(folder, "stratigraph.lock"))).toBe(false);
});

test("a lock is stale whose process is gone, or was another one with the same id", () => {
  const file = join(folder, "stratigraph.lock");
  const gone = { pid: 2 ** 22 + 1, startedAt: "1", token: "a" };
  const reused = { pid: process.pid, startedAt: "1", token: "b" };
  for (const holder of [gone, reused]) {
    writeFileSync(file, JSON.stringify(holder));
    lockFolder(folder)();
  }
  // In the making, on a file system that shows files before their content.
  writeFileSync(file, "");
  expect(() => lockFolder(folder)).toThrow("is in use by process unknown");
});

test("processes that take it in turn, some killed while they hold it, never meet", async () => {
  const script = join(import.meta.dirname, "support/lockChild.ts");
  const start = (forMs: number) => runChild<LockMessage>(script, [folder, String(forMs)]);
  const staying = [0, 1].map(() => start(5_000));
  const killed = [0, 1, 2].map(async () => {
    const child = start(60_000);
    await child.message(({ type }) => type === "held");
    return await child.kill();
  });
  for (const exit of await Promise.all(killed)) expect(exit.signal).toBe("SIGKILL");
  for (const child of staying) {
    const end = await child.message(({ type }) => type === "end");
    expect(end).toMatchObject({ held: expect.toSatisfy((held: number) => held > 10) });
    expect(child.messages.filter(({ type }) => type === "violation")).toEqual([]);
    await child.exit;
  }
});
