import type { ObservedPutsInput, ObservedWay } from "../jobs/observedPuts.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "observe";
export const order = 75;
export const needsPostgresSaver = true;

/** What it costs to be watched. */
export async function run(context: BenchContext): Promise<Table[]> {
  const { quick } = context.options;
  const ways = await context.inChild<ObservedWay[]>(new URL("../jobs/observedPuts.ts", import.meta.url), {
    url: context.postgresUrl,
    schema: "observe",
    puts: quick ? 200 : 4000,
    rounds: quick ? 2 : 11,
  } satisfies ObservedPutsInput);
  const us = (value: number): string => `${value.toFixed(0)} µs`;
  return [
    {
      title: "Metrics and spans: a put and a getTuple together",
      columns: ["who watches", "in memory", "PostgreSQL", "PostgreSQL, CPU of the process"],
      rows: ways.map(({ way, memory, postgres }) => [
        way,
        us(memory.took),
        us(postgres.took),
        us(postgres.cpu),
      ]),
      notes: [
        "Medians of rounds, the ways in turns. Where nobody watches, each operation and each call asks once whether anybody does, and nothing is built.",
      ],
    },
  ];
}
