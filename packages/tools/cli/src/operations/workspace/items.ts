import { encodeCursor } from "@stratigraph/core/internal";
import type { ItemPage } from "@stratigraph/core/tier";
import { z } from "zod";
import { table } from "../render/columns.ts";
import { timeText } from "../render/units.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { equalShare } from "../values/cut.ts";
import { Redaction } from "../values/redaction.ts";
import { clipped } from "../values/text.ts";
import { itemText, prefixNamed } from "./itemText.ts";
import { existingWorkspace, type OpenWorkspace } from "./openWorkspace.ts";
import {
  byText,
  itemOf,
  leastBytes,
  shownItem,
  shownJson,
  valueText,
  type Showing,
  type ShownItem,
} from "./shownChange.ts";
import { moment, placeIn, workspaceFields } from "./workspaceFields.ts";

/** How many items are read at a time, and how many a search looks at before it ends its page. */
const [read, mostSearched] = [100, 5000];

const placeOfPage = z.object({
  before: z.number().optional(),
  after: z.object({ namespace: z.array(z.string()), key: z.string() }).optional(),
});

type Place = z.output<typeof placeOfPage>;

/** Lists and searches items. */
export const workspaceItems = operation({
  name: "workspace-items",
  group: "look",
  effect: "read",
  summary: "List or search the items of a workspace, last changed first, as they are or as they were.",
  args: ["workspace"],
  examples: [
    "stratigraph workspace items trip",
    "stratigraph workspace items trip --prefix plan --search Rome",
    "stratigraph workspace items trip --at 2",
  ],
  input: z.object({
    workspace: workspaceFields.workspace,
    prefix: workspaceFields.prefix,
    search: z
      .string()
      .optional()
      .describe("Only items with this text in their name or their value, in upper or lower case."),
    at: moment("As they were at this version or time, in the order of their names. Default: as they are."),
    maxBytes: maxBytes("How much of the values to show in all, in bytes. What is longer is cut."),
    limit: fields.limit,
    cursor: fields.cursor,
  }),
  output: z.object({
    workspace: z.string(),
    version: z.number().describe("The workspace's version to which the items belong."),
    items: z.array(shownItem),
    cursor: z.string().optional(),
  }),
  async run({ workspace, prefix, search, at, maxBytes, limit, cursor }, context) {
    const opened = await existingWorkspace(context, workspace);
    const version = at === undefined ? undefined : (await opened.workspace.at(at)).version;
    const showing = { saver: opened.saver, workspace, redaction: new Redaction(context.redact) };
    const share = equalShare(maxBytes, limit, leastBytes);
    const items: ShownItem[] = [];
    let place: Place | undefined = placeIn(placeOfPage, cursor) ?? {};
    const labels = prefixNamed(prefix);
    let searched = 0;
    while (place !== undefined && items.length < limit && searched < mostSearched) {
      if (context.signal.aborted) break;
      const most = search === undefined ? limit - items.length : read;
      const { items: page, more } = await pageOf(opened, workspace, labels, version, place, most);
      let left = page.length;
      for (const stored of page) {
        left -= 1;
        searched += 1;
        const { namespace, key, version: before } = stored;
        place = version === undefined ? { before } : { after: { namespace: [...namespace], key } };
        if (search !== undefined && !(await has(showing, stored, search))) continue;
        items.push(await itemOf(showing, stored, share));
        if (items.length === limit) break;
      }
      if (left === 0 && !more) place = undefined;
      if (search !== undefined) context.progress({ done: searched, unit: "items", at: workspace });
    }
    return {
      workspace,
      version: version ?? opened.version,
      items,
      ...(place === undefined ? {} : { cursor: encodeCursor(place) }),
    };
  },
  *render({ items, cursor }) {
    const now = Date.now();
    const rows = items.map(({ item, version, at, author, reason = "", value }) => [
      item,
      String(version),
      `${timeText(now - Date.parse(at))} ago`,
      byText(author),
      clipped(reason, 40),
      valueText(value, 60),
    ]);
    if (items.length === 0) yield cursor === undefined ? "No items." : "No items so far.";
    else yield* table(["ITEM", ">VERSION", ">CHANGED", "BY", "REASON", "VALUE"], rows);
    if (cursor !== undefined) yield `More with --cursor ${cursor}`;
  },
});

async function pageOf(
  { storage, items }: OpenWorkspace,
  workspace: string,
  prefix: readonly string[],
  version: number | undefined,
  { before, after }: Place,
  limit: number,
): Promise<ItemPage> {
  if (version !== undefined)
    return await storage.itemsAt(workspace, { version, prefixes: [prefix], after, limit });
  const found = await items.search({ prefixes: [["", workspace, ...prefix]], tests: [], before, limit });
  return { ...found, items: found.items.map((item) => ({ ...item, namespace: item.namespace.slice(2) })) };
}

/** Only what is shown is searched: a search must not find out what is redacted. */
async function has(showing: Showing, stored: ItemPage["items"][number], search: string): Promise<boolean> {
  const wanted = search.toLowerCase();
  if (itemText(stored).toLowerCase().includes(wanted)) return true;
  const { json } = await shownJson(showing, stored);
  return json !== undefined && textsIn(json.value).some((text) => text.toLowerCase().includes(wanted));
}

function textsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [String(value)];
  return Object.entries(value).flatMap(([name, part]) => [
    ...(Array.isArray(value) ? [] : [name]),
    ...textsIn(part),
  ]);
}
