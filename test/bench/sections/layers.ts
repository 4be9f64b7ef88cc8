import { bytes, ms } from "../format.ts";
import type { LayeredTurnsInput, LayeredWay } from "../jobs/layeredTurns.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "layers";
export const order = 76;
export const needsPostgresSaver = true;

/** A large cache in the state: what it costs as a channel like others, and as one of `bestEffort`. */
export async function run({ options, inChild, postgresUrl }: BenchContext): Promise<Table[]> {
  const [turns, cacheBytes] = options.quick ? [2, 200_000] : [20, 20_000_000];
  const ways = await inChild<LayeredWay[]>(new URL("../jobs/layeredTurns.ts", import.meta.url), {
    url: postgresUrl,
    turns,
    cacheBytes,
  } satisfies LayeredTurnsInput);
  return [
    {
      title: `${turns} turns with a cache of ${bytes(cacheBytes)} that changes in each, PostgreSQL`,
      columns: [
        "the cache is",
        "turn",
        "put",
        "putWrites",
        "first getTuple of another process",
        "sent",
        "stored",
      ],
      rows: ways.map(({ way, turn, put, putWrites, resume, sent, stored }) => [
        way,
        ms(turn),
        ms(put),
        ms(putWrites),
        ms(resume),
        bytes(sent),
        bytes(stored),
      ]),
      notes: [
        'Medians of turns under durability "sync"; of each turn, its longest put and putWrites. Each turn also waits a second, as for a model, not counted.',
      ],
    },
  ];
}
