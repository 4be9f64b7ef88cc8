import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { exportItems } from "@stratigraph/workspace";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { operation } from "../table/operation.ts";
import { prefixNamed } from "./itemText.ts";
import { existingWorkspace } from "./openWorkspace.ts";
import { workspaceFields } from "./workspaceFields.ts";

/** Writes the items of a workspace to a file. */
export const workspaceExport = operation({
  name: "workspace-export",
  group: "transfer",
  // It changes nothing in the storage, but writes to the given destination.
  effect: "write",
  summary:
    "Write the items of a workspace, or those of one agent, to a file, for another storage or framework.",
  args: ["workspace", "to"],
  examples: [
    "stratigraph workspace export trip trip.jsonl",
    "stratigraph workspace export trip planner.jsonl --agent planner",
  ],
  input: z.object({
    workspace: workspaceFields.workspace,
    to: z.string().min(1).describe("The file, of lines of JSON. It is written anew."),
    agent: z.string().min(1).optional().describe("Only items that this agent wrote last."),
    prefix: workspaceFields.prefix,
  }),
  output: z.object({
    workspace: z.string(),
    to: z.string().describe("The file, as an absolute path."),
    items: z.number().describe("How many items were written."),
  }),
  async run({ workspace, to, agent, prefix }, context) {
    const opened = await existingWorkspace(context, workspace);
    const file = resolve(context.cwd, to);
    let items = 0;
    async function* lines(): AsyncGenerator<string> {
      for await (const line of exportItems(opened.workspace, { agent, prefix: prefixNamed(prefix) })) {
        items += 1;
        yield `${line}\n`;
        context.progress({ done: items, unit: "items", at: workspace });
      }
    }
    // Under another name until it is complete: what was there before stays if it fails.
    const partial = `${file}.partial-${process.pid}`;
    try {
      const output = createWriteStream(partial, { flush: true });
      await pipeline(Readable.from(lines()), output, { signal: context.signal });
      await rename(partial, file);
    } finally {
      await rm(partial, { force: true });
    }
    return { workspace, to: file, items };
  },
  *render({ to, items }) {
    yield `Wrote ${items} ${items === 1 ? "item" : "items"} to ${shown(to)}.`;
  },
});
