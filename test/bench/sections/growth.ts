import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytes, ms, ratio } from "../format.ts";
import { growthPicture } from "../growthPicture.ts";
import type { GrowingInput, GrowthPoint } from "../jobs/growingThread.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "growth";
export const order = 3;
export const needsPostgresSaver = true;

const JOB = new URL("../jobs/growingThread.ts", import.meta.url);

/** How storage and time per turn grow with a thread. Draws docs/images/growth.svg, but for --quick. */
export async function run({ options, savers, postgresUrl, inChild }: BenchContext): Promise<Table> {
  const [turns, every] = options.quick ? [8, 4] : [400, 40];
  const of = async (saver: "official-postgres" | "postgres"): Promise<GrowthPoint[]> => {
    if (!savers.includes(saver)) return [];
    const schema = `growth_${saver.replace("-", "_")}`;
    const input: GrowingInput = { saver, url: postgresUrl, schema, turns, every };
    return await inChild<GrowthPoint[]>(JOB, input, "built");
  };
  const [official, ours] = [await of("official-postgres"), await of("postgres")];
  if (!options.quick && official.length > 0)
    writeFileSync(
      join(import.meta.dirname, "../../../docs/images/growth.svg"),
      growthPicture(official, ours),
    );
  return {
    title: "A thread that grows",
    columns: ["turns", "official PostgresSaver", "ours", "is", "official, per turn", "ours, per turn", "is"],
    rows: ours.map((point, n) => [
      String(point.turns),
      bytes(official[n]?.bytes),
      bytes(point.bytes),
      ratio(point.bytes, official[n]?.bytes),
      ms(official[n]?.ms),
      ms(point.ms),
      ratio(point.ms, official[n]?.ms),
    ]),
    notes: [
      "A question and an answer per turn, through a compiled graph of one node: all tables and indexes after VACUUM, and the median time of the turns since the row before.",
    ],
  };
}
