import { InvalidOptionError } from "@stratigraph/core";
import { encodeCursor } from "@stratigraph/core/internal";
import type { LoggedChange } from "@stratigraph/core/tier";
import { z } from "zod";
import { table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { equalShare } from "../values/cut.ts";
import { Redaction } from "../values/redaction.ts";
import { clipped } from "../values/text.ts";
import { itemNamed, prefixNamed } from "./itemText.ts";
import { existingWorkspace, refuseGone } from "./openWorkspace.ts";
import {
  byText,
  changeOf,
  leastBytes,
  shownChange,
  valueText,
  whatText,
  type Showing,
} from "./shownChange.ts";
import { logPlace, placeIn, since, workspaceFields } from "./workspaceFields.ts";

/** Shows the log of a workspace, or the history of an item. */
export const workspaceLog = operation({
  name: "workspace-log",
  group: "look",
  effect: "read",
  summary: "Show the changes and messages of a workspace, or the history of one item: who, what and why.",
  args: ["workspace", "item"],
  examples: [
    "stratigraph workspace log trip",
    "stratigraph workspace log trip plan.days",
    "stratigraph workspace log trip --since 1 --prefix plan",
  ],
  input: z.object({
    workspace: workspaceFields.workspace,
    item: workspaceFields.item.optional().describe("Only changes of this item: plan.days."),
    since: since("Only what came after this version; oldest first. Default: all, newest first."),
    prefix: workspaceFields.prefix,
    maxBytes: maxBytes("How much of the values to show in all, in bytes. What is longer is cut."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    workspace: z.string(),
    version: z.number().describe("Of the workspace's newest change."),
    trimmed: z.number().describe("Older changes than this version may have been removed. 0: none were."),
    items: z.array(shownChange),
    cursor: z.string().optional(),
  }),
  async run({ workspace, item, since, prefix, maxBytes, limit, cursor }, context) {
    if (item !== undefined && prefix !== undefined)
      throw new InvalidOptionError("prefix", prefix, "Leave it out: an item is named.");
    const at = item === undefined ? undefined : itemNamed(item);
    const place = placeIn(logPlace, cursor);
    const { saver, storage } = await existingWorkspace(context, workspace);
    const page = await storage.log(workspace, {
      prefixes: [at?.namespace ?? prefixNamed(prefix)],
      key: at?.key,
      ...(since === undefined
        ? { before: place?.version, newestFirst: true }
        : { after: place?.version ?? since }),
      limit,
    });
    if (since !== undefined && place !== undefined) refuseGone(workspace, place, page);
    // Whoever looks may name any version, not only that of an entry.
    else if (since !== undefined) refuseGone(workspace, { version: since }, { ...page, afterVersion: since });
    const showing = { saver, workspace, redaction: new Redaction(context.redact) };
    const items = await changesOf(showing, page.entries, maxBytes);
    const last = page.entries.at(-1);
    const more =
      page.more && last !== undefined
        ? { cursor: encodeCursor({ version: last.version, atMs: last.atMs }) }
        : {};
    return { workspace, version: page.version, trimmed: page.trimmed, items, ...more };
  },
  *render({ items, trimmed, cursor }) {
    const now = Date.now();
    const rows = items.map((change) => [
      String(change.version),
      `${timeText(now - Date.parse(change.at))} ago`,
      byText(change.author),
      whatText(change),
      valueText(change.value, 60),
      clipped(change.reason ?? "", 60),
    ]);
    if (items.length === 0) yield "No changes.";
    else yield* table([">VERSION", ">WHEN", "BY", "WHAT", "VALUE", "REASON"], rows);
    if (trimmed > 0) yield `Up to version ${trimmed}, only what items still are is kept.`;
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
});

/** Changes as they are shown; their values get equal shares. */
export async function changesOf(
  showing: Showing,
  entries: readonly LoggedChange[],
  maxBytes: number,
): Promise<z.output<typeof shownChange>[]> {
  const share = equalShare(maxBytes, entries.length, leastBytes);
  return await Promise.all(entries.map((entry) => changeOf(showing, entry, share)));
}
