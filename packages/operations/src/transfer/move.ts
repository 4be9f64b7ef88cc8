import { moveThreads, tierSource } from "@stratigraph/migrate";
import { z } from "zod";
import { operation } from "../table/operation.ts";
import { copied, copyFields, copyFound, copyOptions, copyOutput, planned, renderCopy } from "./copyOutput.ts";

/** Copies threads to another storage of ours. */
export const move = operation({
  name: "move",
  group: "transfer",
  effect: "write",
  summary:
    "Copy threads to another storage of Stratigraph as they are, with branches and tags. The source keeps them.",
  examples: [
    "stratigraph move --to postgresql://localhost/agents",
    "stratigraph move --to production --thread ada --dry-run",
  ],
  input: z.object({
    to: z.string().min(1).describe("The URL of a storage, or the name of one of the config's environments."),
    ...copyFields,
  }),
  output: copyOutput,
  async run(input, context) {
    const saver = await context.saver();
    const target = await context.open(input.to);
    const places = { from: saver.tier.name, to: target.tier.name };
    if (input.dryRun) return planned(places, await tierSource(saver).plan());
    return copied(
      places,
      await moveThreads(saver, target, { ...copyOptions(input, context), source: "keep" }),
    );
  },
  render: renderCopy,
  found: copyFound,
});
