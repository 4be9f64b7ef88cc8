import { NotFoundError } from "@stratigraph/core";
import type { StoredItem } from "@stratigraph/core/tier";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { Redaction } from "../values/redaction.ts";
import { valueLines } from "../values/text.ts";
import { itemNamed } from "./itemText.ts";
import { existingWorkspace } from "./openWorkspace.ts";
import { authorText, itemOf, shownItem } from "./shownChange.ts";
import { moment, workspaceFields } from "./workspaceFields.ts";

/** Shows an item. */
export const workspaceShow = operation({
  name: "workspace-show",
  group: "look",
  effect: "read",
  summary: "Show an item of a workspace: its value and version, who changed it last, and why.",
  args: ["workspace", "item"],
  examples: [
    "stratigraph workspace show trip plan.days",
    "stratigraph workspace show trip plan.days --at 2 --path days[0]",
  ],
  input: z.object({
    workspace: workspaceFields.workspace,
    item: workspaceFields.item,
    at: moment("As it was at this version or time. Default: as it is."),
    path: z.string().optional().describe("Only this part of the value: days[0].city."),
    maxBytes: maxBytes("How much of the value to show, in bytes. What is longer is cut."),
  }),
  output: shownItem.extend({ workspace: z.string() }),
  async run({ workspace, item, at, path, maxBytes }, context) {
    const address = itemNamed(item);
    const { saver, storage, items, workspace: opened } = await existingWorkspace(context, workspace);
    let stored: StoredItem | undefined;
    if (at === undefined) {
      const namespace = ["", workspace, ...address.namespace];
      [stored] = await items.read([{ namespace, key: address.key }]);
    } else {
      const { version } = await opened.at(at);
      const query = { version, prefixes: [address.namespace], key: address.key, limit: 1 };
      [stored] = (await storage.itemsAt(workspace, query)).items;
    }
    if (stored === undefined)
      throw new NotFoundError(
        `Workspace ${JSON.stringify(workspace)} has no item ${item}${at === undefined ? "" : " as of then"}. "stratigraph workspace items" lists items, and "stratigraph workspace log" the changes of one that was deleted.`,
        { workspace, item },
      );
    const showing = { saver, workspace, redaction: new Redaction(context.redact) };
    return { workspace, ...(await itemOf(showing, { ...stored, ...address }, maxBytes, path)) };
  },
  *render({ item, version, at, created, author, reason, value }) {
    yield `${shown(item)}  version ${version}  changed ${timeText(Date.now() - Date.parse(at))} ago, at ${at}`;
    yield `by  ${authorText(author)}`;
    if (reason !== undefined) yield `reason  ${shown(reason)}`;
    if (created !== at) yield `first put  ${created}`;
    yield "";
    yield* valueLines(value.value);
  },
});
