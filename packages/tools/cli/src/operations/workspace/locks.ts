import { z } from "zod";
import { table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { operation } from "../table/operation.ts";
import { openWorkspace } from "./openWorkspace.ts";
import { byText, shownChange } from "./shownChange.ts";
import { workspaceFields } from "./workspaceFields.ts";

/** Lists who holds what. */
export const workspaceLocks = operation({
  name: "workspace-locks",
  group: "look",
  effect: "read",
  summary: "List the locks of a workspace that are held: by whom, and since when.",
  args: ["workspace"],
  examples: ["stratigraph workspace locks trip"],
  input: z.object({ workspace: workspaceFields.workspace }),
  output: z.object({
    workspace: z.string(),
    items: z.array(
      z.object({
        key: z.string(),
        token: z.number().describe("The fencing token. It grows from holder to holder."),
        author: shownChange.shape.author,
        since: z.string().describe("ISO 8601."),
      }),
    ),
  }),
  async run({ workspace }, context) {
    const { workspace: opened } = await openWorkspace(context, workspace);
    const locks = await opened.locks();
    return { workspace, items: locks.map(({ since, ...lock }) => ({ ...lock, since: since.toISOString() })) };
  },
  *render({ items }) {
    const now = Date.now();
    const rows = items.map(({ key, token, author, since }) => [
      key,
      String(token),
      byText(author),
      `${timeText(now - Date.parse(since))} ago`,
    ]);
    if (items.length === 0) yield "No lock is held.";
    else yield* table(["LOCK", ">TOKEN", "BY", ">SINCE"], rows);
  },
});
