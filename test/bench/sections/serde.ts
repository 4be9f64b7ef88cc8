import { bytes, ms, ratio } from "../format.ts";
import type { SerdeInput, SerdeResult } from "../jobs/timeSerde.ts";
import type { BenchContext, Section, Table } from "../types.ts";

export const name = "serde";
export const order = 30;
export const needs: Section["needs"] = ["recording"];

/** The serializers alone, on the final messages of the replayed thread. */
export async function run(context: BenchContext): Promise<Table> {
  const { quick } = context.options;
  const measure = async (whose: SerdeInput["whose"]): Promise<SerdeResult> => {
    const result = await context.inChild<SerdeResult>(new URL("../jobs/timeSerde.ts", import.meta.url), {
      whose,
      conversationsFile: context.conversationsFile ?? "",
      conversations: quick ? 5 : 20,
      rounds: quick ? 10 : 60,
    } satisfies SerdeInput);
    if (result !== undefined) {
      context.figures.set(`serde.${whose}.dumps`, result.dumps);
      context.figures.set(`serde.${whose}.loads`, result.loads);
    }
    return result;
  };
  const official = await measure("official");
  const ours = await measure("ours");
  const row = (label: string, print: typeof ms, pick: (result: SerdeResult) => number | undefined) => [
    label,
    print(pick(official)),
    ours === undefined ? "not in this checkout" : print(pick(ours)),
    ratio(pick(ours), pick(official)),
  ];
  return {
    title: `The serializers alone, on ${bytes(official?.bytes)} of messages`,
    columns: ["median", "official", "ours", "is"],
    rows: [
      row("dumpsTyped", ms, (result) => result?.dumps),
      row("loadsTyped", ms, (result) => result?.loads),
      row("serialised", bytes, (result) => result?.bytes),
    ],
    notes: ["LangChain message objects in, LangChain message objects out."],
  };
}
