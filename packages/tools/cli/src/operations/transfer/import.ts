import { importThreads, openSource } from "@stratigraph/migrate";
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

/** Imports threads. */
export const importOperation = operation({
  name: "import",
  group: "transfer",
  effect: "write",
  summary: "Bring threads of another saver, or of a file, into this storage.",
  args: ["from"],
  examples: [
    "stratigraph import official+postgresql://localhost/app --dry-run",
    "stratigraph import sqlite:checkpoints.sqlite",
    "stratigraph import threads.jsonl.zst --thread ada",
  ],
  input: z.object({
    from: z
      .string()
      .min(1)
      .describe(
        "Where from: official+postgresql://…, sqlite:FILE, official+redis://…, mongodb://…, or a file *.jsonl, *.jsonl.gz or *.jsonl.zst.",
      ),
    ...copyInput,
  }),
  output: copyOutput,
  async run({ from, dryRun, ...input }, context) {
    const saver = await context.saver();
    const source = await openSource(from, { serde: saver.serde, cwd: context.cwd });
    try {
      if (dryRun) return planned(await source.plan());
      return copied(await importThreads(source, saver, copyOptions(input, context)));
    } finally {
      await source.close();
    }
  },
  render: (output) => renderCopy("Imported", output),
  found: foundInCopy,
});
