import { diffValues } from "@stratigraph/branch/internal";
import { NotFoundError } from "@stratigraph/core";
import type { ItemAddress, StoredItem } from "@stratigraph/core/tier";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { fields, maxBytes } from "../table/fields.ts";
import { operation } from "../table/operation.ts";
import { changeLines, cutChanges, differences, listed } from "../read/changes.ts";
import { Redaction } from "../values/redaction.ts";
import { itemNamed, itemText, prefixNamed } from "./itemText.ts";
import { existingWorkspace, type OpenWorkspace } from "./openWorkspace.ts";
import { placeOf } from "./shownChange.ts";
import { moment, workspaceFields } from "./workspaceFields.ts";

/** How many changes of the log are read at a time, and how many changes of an item are listed. */
const [read, mostOfItem] = [256, 200];

const changed = differences.extend({
  item: z.string(),
  namespace: z.array(z.string()),
  key: z.string(),
  kind: z.enum(["added", "removed", "changed"]),
});

/** Shows what differs between two versions. */
export const workspaceDiff = operation({
  name: "workspace-diff",
  group: "look",
  effect: "read",
  summary: "Show what differs between two versions of a workspace, or of one item.",
  args: ["workspace", "item"],
  examples: [
    "stratigraph workspace diff trip",
    "stratigraph workspace diff trip plan.days",
    "stratigraph workspace diff trip --from 1 --to 3",
  ],
  input: z.object({
    workspace: workspaceFields.workspace,
    item: workspaceFields.item.optional().describe("Only this item: plan.days."),
    from: moment("The older version, or a time. Default: before the last change up to `to`."),
    to: moment("The newer version, or a time. Default: now."),
    prefix: workspaceFields.prefix,
    limit: fields.limit.describe("How many items at most, up to 1000: those that were changed last."),
    maxBytes: maxBytes("How much of the values to show in all, in bytes. What is longer is cut."),
  }),
  output: z.object({
    workspace: z.string(),
    from: z.number(),
    to: z.number(),
    changed: z.array(changed).describe("Items, last changed first."),
    more: z.boolean().describe("Whether further items were changed between the two."),
  }),
  async run({ workspace, item, from, to, prefix, limit, maxBytes }, context) {
    const at = item === undefined ? undefined : itemNamed(item);
    const opened = await existingWorkspace(context, workspace);
    const part = { prefixes: [at?.namespace ?? prefixNamed(prefix)], key: at?.key };
    const newer = (await opened.workspace.at(to ?? opened.version)).version;
    const older =
      from === undefined
        ? await beforeLast(opened, workspace, part, newer)
        : (await opened.workspace.at(from)).version;
    // The older of the two is asked for first, whatever order they were named in.
    const [a, b] = older <= newer ? [older, newer] : [newer, older];
    const { found, more } = await changedBetween(opened, workspace, part, a, b, limit, context.signal);
    const redaction = new Redaction(context.redact);
    const channels: z.output<typeof changed>[] = [];
    for (const { address, after } of found) {
      const before = await itemAt(opened, workspace, address, a);
      const coder = opened.saver.itemCoder.of(workspace);
      const sides = await Promise.all(
        [before, after].map(async (stored) =>
          stored === undefined ? undefined : await coder.decode({ ...address, value: stored.value }),
        ),
      );
      const changes = diffValues(sides[0], sides[1]);
      if (changes.length === 0) continue;
      const kind = before === undefined ? "added" : after === undefined ? "removed" : "changed";
      const { namespace, key } = address;
      const place = placeOf(workspace, address);
      channels.push({
        ...{ item: itemText(address), namespace: [...namespace], key, kind },
        ...listed("workspaces", changes, mostOfItem, redaction, place),
      });
    }
    return { workspace, from: a, to: b, changed: cutChanges(channels, maxBytes), more };
  },
  *render({ workspace, from, to, changed: items, more }) {
    yield shown(`${workspace} ${from} → ${to}`);
    for (const { item, kind, ...each } of items) yield* changeLines(item, kind, each);
    if (items.length === 0) yield "no difference";
    if (more) yield "More items were changed: raise --limit, or name a --prefix.";
  },
  found: ({ changed: items }) => items.length > 0,
});

type Part = { readonly prefixes: readonly (readonly string[])[]; readonly key: string | undefined };

/** The version before the last change of a part. @throws NotFoundError if there is none */
async function beforeLast(
  { storage }: OpenWorkspace,
  workspace: string,
  part: Part,
  upTo: number,
): Promise<number> {
  for (let before = upTo + 1; ;) {
    const { entries, more, trimmed } = await storage.log(workspace, {
      ...part,
      before,
      newestFirst: true,
      limit: read,
    });
    const last = entries.find(({ kind }) => kind !== "message");
    if (last !== undefined && last.version > trimmed) return last.version - 1;
    if (last === undefined && more) {
      before = entries.at(-1)!.version;
      continue;
    }
    const message = `Workspace ${JSON.stringify(workspace)} has no such change up to version ${upTo}${trimmed > 0 ? ` that wasn't trimmed (up to ${trimmed})` : ""}.`;
    throw new NotFoundError(message, { workspace, version: upTo, trimmed });
  }
}

interface Changed {
  readonly address: ItemAddress;
  /** What the item was at the newer version. */
  readonly after: Pick<StoredItem, "value"> | undefined;
}

/** The items that were changed after a version, up to another, last changed first. */
async function changedBetween(
  opened: OpenWorkspace,
  workspace: string,
  part: Part,
  from: number,
  to: number,
  limit: number,
  signal: AbortSignal,
): Promise<{ found: Changed[]; more: boolean }> {
  const found = new Map<string, Changed>();
  for (let before = to + 1; ;) {
    const query = { ...part, after: from, before, newestFirst: true, limit: read };
    const { entries, more } = await opened.storage.log(workspace, query);
    for (const { namespace, key, kind, value } of entries) {
      const address = { namespace, key };
      const name = JSON.stringify([...namespace, key]);
      if (kind === "message" || found.has(name)) continue;
      if (found.size === limit) return { found: [...found.values()], more: true };
      found.set(name, { address, after: value === undefined ? undefined : { value } });
    }
    if (!more) return { found: [...found.values()], more: false };
    if (signal.aborted) return { found: [...found.values()], more: true };
    before = entries.at(-1)!.version;
  }
}

async function itemAt(
  { storage }: OpenWorkspace,
  workspace: string,
  { namespace, key }: ItemAddress,
  version: number,
): Promise<StoredItem | undefined> {
  return (await storage.itemsAt(workspace, { version, prefixes: [namespace], key, limit: 1 })).items[0];
}
