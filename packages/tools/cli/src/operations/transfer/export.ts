import { exportThreads, openTarget } from "@stratigraph/migrate";
import { tierSource } from "@stratigraph/migrate/internal";
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

/** Exports threads. */
export const exportOperation = operation({
  name: "export",
  group: "transfer",
  // It changes nothing in the storage, but writes to the given destination.
  effect: "write",
  summary: "Write threads of this storage to a file, or to another saver.",
  args: ["to"],
  examples: [
    "stratigraph export threads.jsonl.zst",
    "stratigraph export ada.jsonl --thread ada",
    "stratigraph export official+postgresql://localhost/app",
  ],
  input: z.object({
    to: z
      .string()
      .min(1)
      .describe(
        "Where to: a file *.jsonl, *.jsonl.gz or *.jsonl.zst, official+postgresql://…, sqlite:FILE, official+redis://… or mongodb://….",
      ),
    ...copyInput,
  }),
  output: copyOutput,
  async run({ to, dryRun, ...input }, context) {
    const saver = await context.saver();
    if (dryRun) return planned(await tierSource(saver).plan());
    const target = await openTarget(to, { serde: saver.serde, cwd: context.cwd });
    try {
      return copied(await exportThreads(saver, target, copyOptions(input, context)));
    } finally {
      await target.close();
    }
  },
  render: (output) => renderCopy("Exported", output),
  found: foundInCopy,
});
