import { moveThreads, tierSource } from "@stratigraph/migrate";
import { z } from "zod";
import { flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import {
  copied,
  copyInput,
  copyOptions,
  copyOutput,
  foundInCopy,
  planned,
  renderCopy,
} from "./copyFields.ts";

/** Moves threads to another storage of ours. */
export const move = operation({
  name: "move",
  group: "transfer",
  effect: "destroy",
  summary:
    "Move threads to another Stratigraph storage, byte for byte. They stay here too, unless told otherwise.",
  args: ["to"],
  examples: [
    "stratigraph move postgresql://localhost/app",
    "stratigraph move production --thread ada",
    "stratigraph move production --delete-source",
  ],
  input: z.object({
    to: z.string().min(1).describe("The other storage: a URL, or the name of an environment of the config."),
    deleteSource: flag("Delete each thread here once its copy was verified."),
    ...copyInput,
  }),
  output: copyOutput,
  async run({ to, dryRun, deleteSource, ...input }, context) {
    const from = await context.saver();
    if (dryRun) return planned(await tierSource(from).plan());
    const source = deleteSource ? "delete" : "keep";
    const target = await context.open(to);
    return copied(await moveThreads(from, target, { ...copyOptions(input, context), source }));
  },
  render: (output) => renderCopy("Moved", output),
  found: foundInCopy,
});
