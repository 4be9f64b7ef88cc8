import { bytes, ms, ratio } from "../format.ts";
import type { GrowthInput, GrowthPoint, GrowthResult } from "../jobs/growThread.ts";
import { SAVERS } from "../savers.ts";
import type { BenchContext, SaverId, Table } from "../types.ts";

/** All conversations on one thread: does a checkpoint cost more the longer the thread gets? */
export async function growingThread(context: BenchContext): Promise<Table> {
  const { quick, full } = context.options;
  const conversations = quick ? 8 : 60;
  const stretch = quick ? 50 : 200;
  const rows: string[][] = [];
  for (const saver of ["official-postgres", "postgres"] as SaverId[]) {
    const wanted = saver === "postgres" || full || quick;
    if (!context.savers.includes(saver) || !wanted) {
      rows.push([SAVERS[saver].label, ...Array<string>(8).fill("not run")]);
      continue;
    }
    const result = await context.inChild<GrowthResult>(new URL("../jobs/growThread.ts", import.meta.url), {
      saver,
      url: context.postgresUrl,
      schema: `growth_${saver.replace("-", "_")}`,
      conversationsFile: context.conversations.file,
      conversations,
      stretch,
    } satisfies GrowthInput);
    rows.push(row(saver, result, context.figures));
  }
  return {
    title: `${conversations} ${context.conversations.origin} conversations on one thread`,
    columns: [
      "",
      "checkpoints",
      "stored, total",
      `B per checkpoint, first ${stretch}`,
      `last ${stretch}`,
      "last against first",
      "whole run, wall",
      `put p50, last ${stretch}`,
      `getTuple p50, last ${stretch}`,
    ],
    rows,
    notes: [
      "Bytes are those of all tables and indexes after VACUUM; an empty schema's are part of the first stretch.",
      "The official PostgresSaver grows quadratically here; it runs only with --full.",
    ],
  };
}

function row(saver: SaverId, result: GrowthResult, figures: Map<string, number>): string[] {
  const first = perCheckpoint({ checkpoints: 0, stored: undefined }, result.afterFirst);
  const last = perCheckpoint(result.beforeLast, result.end);
  figures.set(`growth.${saver}.storedTotal`, result.end.stored.total);
  figures.set(`growth.${saver}.bytesPerFirst`, first);
  figures.set(`growth.${saver}.bytesPerLast`, last);
  return [
    SAVERS[saver].label,
    String(result.end.checkpoints),
    bytes(result.end.stored.total),
    bytes(first),
    bytes(last),
    ratio(last, first),
    ms(result.wall),
    ms(result.putP50),
    ms(result.getTupleP50),
  ];
}

function perCheckpoint(
  from: { checkpoints: number; stored: GrowthPoint["stored"] | undefined },
  to: GrowthPoint,
): number {
  return (to.stored.total - (from.stored?.total ?? 0)) / (to.checkpoints - from.checkpoints);
}
