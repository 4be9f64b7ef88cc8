import { InvalidOptionError } from "@stratigraph/core";
import { checkedAddress, checkOptions } from "@stratigraph/core/internal";
import type { ItemAddress } from "@stratigraph/core/tier";
import type { Workspace } from "./workspace.ts";

/** Options of {@link exportItems}. */
export interface ExportItemsOptions {
  /** Only items that this agent wrote last. */
  readonly agent?: string | undefined;
  /** Only items of namespaces that begin with these labels. */
  readonly prefix?: readonly string[] | undefined;
}

/** Where {@link importItems} puts items: a workspace, or any store of LangGraph. */
export interface ItemTarget {
  put(namespace: string[], key: string, value: Record<string, unknown>): Promise<unknown>;
}

interface ReadItem {
  readonly namespace: string[];
  readonly key: string;
  readonly value: Record<string, unknown>;
}

/** The longest line that is read, in UTF-16 units. */
const longestLine = 64_000_000;

/**
 * The items of a workspace, one JSON object per line: namespace, key, value, author, version, updatedAt. An item that is changed meanwhile comes
 * as it is at the end.
 * @throws InvalidOptionError; StratigraphError "VERSION_GONE" if the log is trimmed meanwhile
 */
export async function* exportItems(
  workspace: Workspace,
  options: ExportItemsOptions = {},
): AsyncGenerator<string> {
  checkOptions<ExportItemsOptions>("exportItems", options, { agent: true, prefix: true });
  const { agent, prefix = [] } = options;
  let cursor: string | undefined;
  for (let more = true; more;) {
    const page = await workspace.changes({ cursor, prefix, limit: 200 });
    const puts = page.changes.flatMap((event) => (event.kind === "put" ? [event] : []));
    const current = await workspace.store().batch(puts.map(({ namespace, key }) => ({ namespace, key })));
    for (const [nth, { namespace, key, value, author, version, at }] of puts.entries()) {
      const isLast = (current[nth] as { version?: number } | null)?.version === version;
      if (!isLast || (agent !== undefined && author.agent !== agent)) continue;
      yield JSON.stringify({ namespace, key, value, author, version, updatedAt: at.toISOString() });
    }
    [cursor, more] = [page.cursor, page.more];
  }
}

/**
 * Puts the items of {@link exportItems}'s lines; of each line, only its namespace, key and value are read. Doing it again changes nothing but
 * versions.
 * @returns how many were put
 * @throws InvalidOptionError whose field is the line; lines before it were put
 */
export async function importItems(
  to: ItemTarget,
  lines: Iterable<string> | AsyncIterable<string>,
): Promise<number> {
  let count = 0;
  for await (const { namespace, key, value } of readItems(lines)) {
    await to.put(namespace, key, value);
    count += 1;
  }
  return count;
}

/** The items of lines. @throws InvalidOptionError whose field is the line */
async function* readItems(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<ReadItem> {
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() !== "") yield itemIn(line, `line ${number}`);
  }
}

function itemIn(line: string, field: string): ReadItem {
  const found = line.length > 80 ? `${line.slice(0, 80)}…` : line;
  const wrong = (advice: string): InvalidOptionError => new InvalidOptionError(field, found, advice);
  if (line.length > longestLine) throw wrong(`A line has at most ${longestLine} characters.`);
  let item: unknown;
  try {
    item = JSON.parse(line);
  } catch {
    throw wrong("Each line is a JSON object with namespace, key and value, as workspace export writes it.");
  }
  const { namespace, key, value } = Object(item) as Record<string, unknown>;
  let at: ItemAddress;
  try {
    at = checkedAddress({ namespace, key } as ItemAddress);
  } catch (error) {
    throw wrong(`${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong("Its value has to be a JSON object.");
  return { namespace: [...at.namespace], key: at.key, value: value as Record<string, unknown> };
}
