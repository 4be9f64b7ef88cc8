import { join } from "node:path";
import { postgres } from "@stratigraph/postgres";
import { s3 } from "@stratigraph/s3";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { openBucket } from "../../../s3/test/support/bucket.ts";
import { runChild } from "../../../../../test/servers/children.ts";
import { query } from "../../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { put, stepsOf, text, valueOf } from "../support.ts";
import { AppendLog } from "./support/appendLog.ts";
import { inRounds } from "../../../../../test/rounds.ts";

const child = join(import.meta.dirname, "support/mortalArchiverChild.ts");

// One process after the other, each killed one point later than the one before; about half a minute each.
test.each([
  ["archiving", { archiveAfter: "0s" }, 0],
  ["trimming", { keepLast: 2 }, 2],
] as [string, Partial<TieredSaverOptions>, number][])(
  "an archiver killed at any of its steps while %s: every byte is there, once, and the next one finishes",
  async (_name, options, left) => {
    const [database, bucket] = await Promise.all([freshDatabase(), openBucket()]);
    const log = new AppendLog();
    const warm = postgres({ url: database.url });
    /** A process that knows nothing yet. */
    const open = (): TieredSaver =>
      new TieredSaver(
        {
          warm: log.of(warm),
          cold: s3({ client: bucket.client, bucket: bucket.bucket }),
          restoreOn: "never",
          pause: "0ms",
          ...options,
        },
        () => Date.now() + 120_000,
      );
    const place = JSON.stringify({ ...bucket.login, prefix: "stratigraph" });
    const writer = open();
    await writer.setup();
    try {
      let step = 0;
      for (let killed = true; killed; step += inRounds({ few: 7, all: 3, soak: 1 })) {
        const thread = `t${step}`;
        for (const n of [1, 2, 3, 4]) await put(writer, thread, n, text(`${thread} ${n}`));
        const { signal, code } = await runChild(child, [
          database.url,
          place,
          JSON.stringify(options),
          String(step),
        ]).exit;
        killed = signal === "SIGKILL";
        if (!killed) expect(code).toBe(0);
        const whole = async (): Promise<void> => {
          const reader = open();
          expect(await stepsOf(reader, thread)).toEqual([4, 3, 2, 1]);
          expect(await valueOf(reader, thread)).toBe(text(`${thread} 4`));
          expect(await valueOf(reader, thread, 2)).toBe(text(`${thread} 2`));
          expect(await log.unlike(reader.tier, thread)).toEqual([]);
        };
        await whole();
        // The time passes for which a dead archiver's lease stands.
        await query(
          database.url,
          "update stratigraph.leases set until = clock_timestamp() - interval '1 second'",
        );
        expect((await open().maintain()).ran).toBe(true);
        await whole();
        let inWarm = 0;
        for await (const _ of warm.list({ threadId: thread, recordsOnly: true })) inWarm += 1;
        expect(inWarm).toBe(left);
      }
      expect(step).toBeGreaterThan(8);
      expect(log.differences).toEqual([]);
    } finally {
      await writer.end();
      await bucket.close();
      await database.drop();
    }
  },
);
