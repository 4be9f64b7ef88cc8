import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { MemorySaver as OfficialMemory } from "@langchain/langgraph-checkpoint";
import { MemorySaver } from "@stratigraph/core";
import {
  exportThreads,
  importThreads,
  moveThreads,
  openSource,
  openTarget,
  saverSource,
  saverTarget,
} from "@stratigraph/migrate";
import { expect, onTestFinished, test } from "vitest";

const saver = new MemorySaver();
const official = new OfficialMemory();
const wrong: readonly unknown[] = [undefined, null, {}, "postgresql://user:secret@host", official, 5];

test.each(wrong)("an argument that can't be used is named: %s", async (each) => {
  const calls: [field: string, call: () => Promise<unknown>][] = [
    ["source", () => importThreads(each as never, saver)],
    ["source", () => importThreads(saver as never, saver)],
    ["saver", () => importThreads(saverSource(official), each as never)],
    ["saver", () => exportThreads(each as never, saverTarget(official))],
    ["target", () => exportThreads(saver, each as never)],
    ["from", () => moveThreads(each as never, saver)],
    ["to", () => moveThreads(saver, each as never)],
  ];
  for (const [field, call] of calls) {
    await expect(call()).rejects.toMatchObject({ code: "INVALID_OPTION", data: { field } });
    await expect(call()).rejects.not.toThrow("secret");
  }
});

test.each([
  "sqlite://user:secret@host",
  "file://user:secret@host/x.jsonl",
  "official+postgres:/user:secret@host/db",
])("a URL that means something else is refused, without what it holds: %s", async (url) => {
  for (const open of [openSource, openTarget]) {
    await expect(open(url)).rejects.toMatchObject({ code: "INVALID_OPTION", data: { field: "url" } });
    await expect(open(url)).rejects.toThrow("Write ");
    await expect(open(url)).rejects.not.toThrow("secret");
  }
});

test("a small file with a line of gigabytes is refused before it is unpacked", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-lines-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "bomb.jsonl.gz");
  const part = gzipSync(Buffer.alloc(64 << 20, " "));
  // Five members of a gzip file, one after the other, are one line of 320 MB.
  writeFileSync(path, Buffer.concat([part, part, part, part, part]));
  const source = await openSource(path);
  await expect(importThreads(source, saver)).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringContaining("a line of more than 256 MB"),
  });
});
