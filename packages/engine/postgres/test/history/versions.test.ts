import { PostgresSaver } from "@stratigraph/postgres";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nodeBinary } from "../../../core/test/codec/nodeBinary.ts";
import { runChild } from "../../../../../test/servers/children.ts";
import { query } from "../../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import type { VersionReport } from "./versionChild.ts";
import { inRounds } from "../../../../../test/rounds.ts";

const script = fileURLToPath(new URL("versionChild.ts", import.meta.url));
/** 22.15 has zstd and ignores dictionaries without a word. */
const supported = [
  ["20", "20.19.5"],
  ["22.15", "22.15.0"],
  ["22", "22.23.3"],
  ["24", "24.21.0"],
] as const;
/** With few rounds the oldest, and the newest. */
const versions = inRounds({ few: [supported[0], supported[3]], all: [...supported] });
const binaries: string[] = [];

beforeAll(async () => {
  for (const [name, version] of versions) binaries.push(await nodeBinary(name, version));
}, 300_000);

test.each(["no", "yes"])(
  "Node 20, 22 and 24 go on with one thread in turn and read all of it; encrypted: %s",
  async (encrypted) => {
    const database = await freshDatabase();
    try {
      const saver = PostgresSaver.fromConnString(database.url);
      await saver.setup();
      await saver.end();
      let before: VersionReport["read"] = [];
      let next = 1;
      const each = 5;
      for (const execPath of [...binaries, binaries[0]!]) {
        const args = [database.url, encrypted, String(next), String(next + each - 1)];
        const child = runChild<VersionReport>(script, args, { execPath });
        const { read } = await child.message((message) => "read" in message);
        await child.exit;
        next += each;
        expect(read).toHaveLength(next - 1);
        // What this Node reads of what the others wrote is what they read.
        expect(read.slice(each)).toEqual(before);
        before = read;
      }
      const tags = await query(
        database.url,
        "select get_byte(bytes, 0) as tag, base is not null as patch, count(*)::int as n from stratigraph.blobs group by 1, 2",
      );
      const found = new Set(
        (tags as { tag: number; patch: boolean }[]).map(({ tag, patch }) => `${tag} ${patch}`),
      );
      // Dictionary frames (2) and plain ones (1), whole and patches; sealed: all are (0x41).
      for (const kind of encrypted === "yes" ? ["65 true", "65 false"] : ["2 true", "2 false", "1 false"])
        expect([...found]).toContain(kind);
    } finally {
      await database.drop();
    }
  },
);
