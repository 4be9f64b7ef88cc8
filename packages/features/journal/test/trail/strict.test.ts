import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { MemorySaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { createJournal, verifyTrail } from "../../src/index.ts";

// What another parser may read in another way than this one isn't verified.

it.each([
  ["a carriage return", (line: string) => `${line}\r`],
  ["a blank in front", (line: string) => ` ${line}`],
  ["a name twice", (line: string) => line.replace('{"entry":', '{"entry":{"v":1},"entry":')],
  ["a name within twice", (line: string) => line.replace('"seq":', '"seq":7,"seq":')],
])("a line with %s isn't taken", async (_name, change) => {
  const journal = createJournal(new MemorySaver());
  await journal.run({ configurable: { thread_id: "ada" } }, { id: "pay" }, () => "receipt");
  const through = new PassThrough();
  const [exported] = await Promise.all([text(through), journal.export("ada", through)]);
  const lines = exported.split("\n");
  expect(await verifyTrail([lines.join("\n")])).toMatchObject({ ok: true, entries: 3 });
  for (let n = 1; n < lines.length - 1; n += 1) {
    const changed = lines.with(n, change(lines[n]!)).join("\n");
    expect(await verifyTrail([changed])).toMatchObject({ ok: false });
  }
});
