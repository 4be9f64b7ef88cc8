import { importThreads, openSource } from "@stratigraph/migrate";
import { z } from "zod";
import { operation } from "../table/operation.ts";
import { copied, copyFields, copyFound, copyOptions, copyOutput, planned, renderCopy } from "./copyOutput.ts";

/** Brings threads from elsewhere. */
export const imports = operation({
  name: "import",
  group: "transfer",
  effect: "write",
  summary: "Bring threads of the official savers, or of a file, into this storage, and compare them.",
  args: ["from"],
  examples: [
    "stratigraph import official+postgresql://localhost/agents --dry-run",
    "stratigraph import official+postgresql://localhost/agents",
    "stratigraph import sqlite:./checkpoints.sqlite",
    "stratigraph import threads.jsonl.gz --thread ada",
  ],
  input: z.object({
    from: z
      .string()
      .min(1)
      .describe(
        "official+postgresql://…, sqlite:FILE, or a file that export wrote (.jsonl, .jsonl.gz, .jsonl.zst).",
      ),
    ...copyFields,
  }),
  output: copyOutput,
  async run(input, context) {
    const saver = await context.saver();
    const source = await openSource(input.from, { serde: saver.serde });
    try {
      const places = { from: source.name, to: saver.tier.name };
      if (input.dryRun) return planned(places, await source.plan());
      return copied(places, await importThreads(source, saver, copyOptions(input, context)));
    } finally {
      await source.close();
    }
  },
  render: renderCopy,
  found: copyFound,
});
