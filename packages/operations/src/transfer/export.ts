import { exportThreads, openTarget, tierSource } from "@stratigraph/migrate";
import { z } from "zod";
import { operation } from "../table/operation.ts";
import { copied, copyFields, copyFound, copyOptions, copyOutput, planned, renderCopy } from "./copyOutput.ts";

/** Takes threads elsewhere. */
export const exports = operation({
  name: "export",
  group: "transfer",
  effect: "write",
  summary: "Take threads of this storage to an official saver, or into a file. This storage isn't changed.",
  args: ["to"],
  examples: [
    "stratigraph export threads.jsonl.gz",
    "stratigraph export ada.jsonl --thread ada",
    "stratigraph export official+postgresql://localhost/agents",
  ],
  input: z.object({
    to: z
      .string()
      .min(1)
      .describe("A file (.jsonl, .jsonl.gz, .jsonl.zst), official+postgresql://…, or sqlite:FILE."),
    ...copyFields,
  }),
  output: copyOutput,
  async run(input, context) {
    const saver = await context.saver();
    if (input.dryRun) {
      const source = tierSource(saver);
      return planned({ from: saver.tier.name, to: withoutSecrets(input.to) }, await source.plan());
    }
    const target = await openTarget(input.to, { serde: saver.serde });
    try {
      const places = { from: saver.tier.name, to: target.name };
      return copied(places, await exportThreads(saver, target, copyOptions(input, context)));
    } finally {
      await target.close();
    }
  },
  render: renderCopy,
  found: copyFound,
});

/** A URL without its user and password. */
function withoutSecrets(url: string): string {
  return url.replace(/\/\/[^/]*@/, "//");
}
