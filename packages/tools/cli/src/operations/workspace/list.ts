import { encodeCursor, inParallel } from "@stratigraph/core/internal";
import { z } from "zod";
import { table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { fields } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { Redaction } from "../values/redaction.ts";
import { workspacesOf } from "./openWorkspace.ts";
import { byText, noteOf, shownChange } from "./shownChange.ts";
import { placeIn } from "./workspaceFields.ts";

/** How many workspaces are looked at at the same time. */
const together = 8;

const found = z.object({
  workspace: z.string(),
  version: z.number().describe("Of the newest change."),
  at: shownChange.shape.at.optional().describe("When it was made. Absent where the log was trimmed since."),
  author: shownChange.shape.author.optional(),
});

/** Lists workspaces. */
export const workspaceList = operation({
  name: "workspace-list",
  group: "look",
  effect: "read",
  summary: "List the workspaces that agents share, with who changed each last.",
  examples: ["stratigraph workspace list"],
  input: z.object({ limit: fields.limit, cursor: fields.cursor }),
  output: z.object({ items: z.array(found), cursor: z.string().optional() }),
  async run({ limit, cursor }, context) {
    const saver = await context.saver();
    const { storage } = workspacesOf(saver);
    const { workspace: after } = placeIn(z.object({ workspace: z.string() }), cursor) ?? {};
    const names = await storage.list({ after, limit });
    const items: z.output<typeof found>[] = [];
    const redaction = new Redaction(context.redact);
    await inParallel([...names.entries()], together, async ([place, workspace]) => {
      const newest = { prefixes: [[]], newestFirst: true, limit: 1 } as const;
      const { version, entries } = await storage.log(workspace, newest);
      const [last] = entries;
      items[place] = { workspace, version };
      if (last === undefined) return;
      const { author } = await noteOf({ saver, workspace, redaction }, last);
      items[place] = { workspace, version, at: new Date(last.atMs).toISOString(), author };
    });
    const more = names.length === limit ? { cursor: encodeCursor({ workspace: names.at(-1)! }) } : {};
    return { items, ...more };
  },
  *render({ items, cursor }) {
    const now = Date.now();
    const rows = items.map(({ workspace, version, at, author = {} }) => [
      workspace,
      String(version),
      at === undefined ? "" : `${timeText(now - Date.parse(at))} ago`,
      byText(author),
    ]);
    if (items.length === 0) yield "There are no workspaces.";
    else yield* table(["WORKSPACE", ">VERSION", ">CHANGED", "BY"], rows);
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
});
