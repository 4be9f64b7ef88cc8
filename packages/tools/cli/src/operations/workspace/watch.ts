import { encodeCursor } from "@stratigraph/core/internal";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { Redaction } from "../values/redaction.ts";
import { prefixNamed } from "./itemText.ts";
import { changesOf } from "./log.ts";
import { openWorkspace, refuseGone } from "./openWorkspace.ts";
import { byText, shownChange, valueText, whatText } from "./shownChange.ts";
import { logPlace, placeIn, since, workspaceFields } from "./workspaceFields.ts";

/** How many changes a page has at most. */
const most = 100;

/** Follows a workspace. */
export const workspaceWatch = operation({
  name: "workspace-watch",
  group: "look",
  effect: "read",
  summary: "Show the changes and messages of a workspace as they come, until it is interrupted.",
  args: ["workspace"],
  examples: ["stratigraph workspace watch trip", "stratigraph workspace watch trip --since 0 --prefix plan"],
  endless: true,
  input: z.object({
    workspace: workspaceFields.workspace.describe("The name of a workspace, which may not have begun yet."),
    since: since("The version after which to begin. Default: now."),
    prefix: workspaceFields.prefix,
    maxBytes: maxBytes("How much of the values to show at once, in bytes. What is longer is cut."),
    cursor: z.string().optional().describe("Where the previous page ended."),
  }),
  output: z.object({
    workspace: z.string(),
    version: z.number().describe("The version up to which everything was told."),
    items: z.array(shownChange).describe("At least one, unless it was interrupted."),
    cursor: z.string(),
    complete: z.literal(false).optional().describe("Given if it was interrupted."),
  }),
  async run({ workspace, since, prefix, maxBytes, cursor }, context) {
    const { saver, storage, workspace: opened, version } = await openWorkspace(context, workspace);
    const place = placeIn(logPlace, cursor) ?? { version: since ?? version };
    const after = place.version;
    const labels = prefixNamed(prefix);
    const { signal } = context;
    context.progress({ done: 0, unit: `changes after version ${after}`, at: workspace });
    // It only waits here, and checks that the log still has what comes after that version.
    for await (const _ of opened.watch({
      since: after,
      prefix: prefix === undefined ? undefined : labels,
      signal,
    }))
      break;
    const isEnded = signal.aborted;
    const page = isEnded
      ? undefined
      : await storage.log(workspace, { prefixes: [labels], after, limit: most });
    if (page !== undefined) refuseGone(workspace, place, page);
    const showing = { saver, workspace, redaction: new Redaction(context.redact) };
    const items = await changesOf(showing, page?.entries ?? [], maxBytes);
    const { version: last, atMs } = page?.entries.at(-1) ?? place;
    return {
      ...{ workspace, version: last, items, cursor: encodeCursor({ version: last, atMs }) },
      ...(signal.aborted ? { complete: false as const } : {}),
    };
  },
  *render({ items, version, complete }) {
    for (const change of items) {
      const { at, author, value, reason } = change;
      const parts = [
        change.version,
        at,
        byText(author),
        whatText(change),
        valueText(value, 80),
        reason ?? "",
      ];
      yield shown(parts.filter((part) => part !== "").join("  "));
    }
    if (complete === false) yield `The same command goes on with --since ${version}`;
  },
});
