import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { importItems } from "@stratigraph/workspace";
import { z } from "zod";
import { operation } from "../table/operation.ts";
import { fields } from "../table/fields.ts";
import { openWorkspace } from "./openWorkspace.ts";
import { workspaceFields } from "./workspaceFields.ts";

/** Puts the items of a file into a workspace. */
export const workspaceImport = operation({
  name: "workspace-import",
  group: "transfer",
  effect: "write",
  summary: "Put the items of a file into a workspace. What they replace stays in its history.",
  args: ["workspace", "from"],
  examples: ["stratigraph workspace import trip trip.jsonl --dry-run"],
  input: z.object({
    workspace: workspaceFields.workspace,
    from: z
      .string()
      .min(1)
      .describe("The file that `workspace export` wrote: lines of JSON with namespace, key and value."),
    dryRun: fields.dryRun,
  }),
  output: z.object({
    workspace: z.string(),
    items: z.number().describe("How many items the file has."),
    dryRun: z.boolean().describe("Nothing was put."),
  }),
  async run({ workspace, from, dryRun }, context) {
    const opened = await openWorkspace(context, workspace);
    const file = resolve(context.cwd, from);
    const read = async (put: (...item: Parameters<typeof opened.workspace.put>) => Promise<unknown>) => {
      const input = createReadStream(file, { signal: context.signal });
      // A line reader alone would leave a file that isn't there unnoticed.
      const failed = new Promise<never>((_, reject) => input.once("error", reject));
      const lines = createInterface({ input, crlfDelay: Infinity });
      return await Promise.race([importItems({ put }, lines), failed]);
    };
    // Of a file with a wrong line nothing is put.
    const items = await read(async () => undefined);
    const reason = `imported from ${from}`.slice(0, 2000);
    if (!dryRun)
      await read(
        async (namespace, key, value) => await opened.workspace.put(namespace, key, value, { reason }),
      );
    return { workspace, items, dryRun };
  },
  *render({ items, dryRun }) {
    yield `${dryRun ? "There are" : "Put"} ${items} ${items === 1 ? "item" : "items"}.${dryRun ? " Nothing was put." : ""}`;
  },
});
