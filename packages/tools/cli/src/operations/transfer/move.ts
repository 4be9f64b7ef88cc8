import { moveThreads } from "@stratigraph/migrate";
import { tierSource } from "@stratigraph/migrate/internal";
import { InvalidOptionError } from "@stratigraph/core";
import { z } from "zod";
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
  effect: "write",
  summary: "Move threads to another Stratigraph storage, byte for byte. They stay here, too.",
  args: ["to"],
  examples: ["stratigraph move postgresql://localhost/app", "stratigraph move production --thread ada"],
  input: z.object({
    to: z.string().min(1).describe("The other storage: a URL, or the name of an environment of the config."),
    ...copyInput,
  }),
  output: copyOutput,
  async run({ to, dryRun, ...input }, context) {
    if (/^memory:/i.test(to))
      throw new InvalidOptionError(
        "to",
        to,
        "A storage in memory ends with this process. Name a storage that stays.",
      );
    const from = await context.saver();
    if (dryRun) return planned(await tierSource(from).plan());
    const target = await context.open(to);
    return copied(await moveThreads(from, target, copyOptions(input, context)));
  },
  *render(output) {
    yield* renderCopy("Moved", output);
    if (output.dryRun || !output.complete) return;
    yield "Applications go on where they are told to. To go on there, name that storage in stratigraph.config.json, which createCheckpointer()";
    yield "without an argument opens; one that names its storage in the code goes on here until that line is changed.";
  },
  found: foundInCopy,
});
