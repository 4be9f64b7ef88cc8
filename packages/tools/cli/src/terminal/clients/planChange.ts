import { isDeepStrictEqual } from "node:util";
import { StratigraphError } from "stratigraph";
import type { ClientFile } from "./clientFile.ts";
import type { Client } from "./clients.ts";
import { editJson, isBlank, jsonToPaste } from "./editJson.ts";
import { editToml, tomlToPaste, tomlValue } from "./editToml.ts";
import { isRecord, isRemote, type ServerEntry } from "./edits.ts";
import { readJson, valueOf } from "./jsonText.ts";

/** What a file would become. */
export interface Change {
  readonly action: "add" | "change" | "remove" | "none";
  readonly text: string;
}

/**
 * The text of a client's file with a server's entry, or without it.
 * @param entry undefined: without it
 * @throws StratigraphError with the lines to paste, if the file can't be edited so that all else stays
 */
export function planChange(
  client: Client,
  { path, text }: ClientFile,
  name: string,
  entry: ServerEntry | undefined,
): Change {
  const { format, key } = client;
  const edit = format === "json" ? editJson : editToml;
  const valueIn = format === "json" ? jsonValue : tomlValue;
  let before: Servers;
  let existing: unknown;
  let made: string;
  try {
    before = serversIn(valueIn(text), key);
    existing = Object.hasOwn(before.servers, name) ? before.servers[name] : undefined;
    if (entry === undefined ? existing === undefined : covers(existing, entry))
      return { action: "none", text };
    made = edit(text, key, name, entry);
  } catch (error) {
    throw byHand(`${path} can't be edited: ${(error as Error).message}`, error);
  }
  if (!isAsMeant()) throw byHand(`${path} is written in a way that this command doesn't edit`);
  return { action: entry === undefined ? "remove" : existing === undefined ? "add" : "change", text: made };

  /** Whether the new text has the entry, and all other values of the old one. */
  function isAsMeant(): boolean {
    const { [name]: _, ...neighbours } = before.servers;
    const keeps = isRecord(existing) && !isRemote(existing) ? existing : {};
    const servers = entry === undefined ? neighbours : { ...before.servers, [name]: { ...keeps, ...entry } };
    try {
      const { [key]: now, ...rest } = valueIn(made) as Readonly<Record<string, unknown>>;
      const { [key]: _old, ...others } = before.all;
      // The last table of TOML takes the one around it along.
      const isGone = now === undefined && format === "toml" && Object.keys(servers).length === 0;
      return isDeepStrictEqual(plain([rest, isGone ? {} : now]), plain([others, servers]));
    } catch {
      return false;
    }
  }

  function byHand(what: string, cause?: unknown): StratigraphError {
    const lines =
      entry === undefined ? undefined : (format === "json" ? jsonToPaste : tomlToPaste)(key, name, entry);
    const how =
      lines === undefined
        ? `Take ${name} below ${key} out of it by hand.`
        : `Put this into it by hand:\n${lines}`;
    return new StratigraphError("MISCONFIGURED", `${what}. It was left as it is. ${how}`, { path }, cause);
  }
}

interface Servers {
  readonly all: Readonly<Record<string, unknown>>;
  readonly servers: Readonly<Record<string, unknown>>;
}

/** @throws SyntaxError if there is something else where the servers belong */
function serversIn(all: unknown, key: string): Servers {
  const servers = isRecord(all) && Object.hasOwn(all, key) ? all[key] : {};
  if (isRecord(all) && isRecord(servers)) return { all, servers };
  throw new SyntaxError(`it has something else where ${isRecord(all) ? key : "an object"} belongs`);
}

function jsonValue(text: string): unknown {
  return isBlank(text) ? {} : valueOf(readJson(text));
}

function covers(existing: unknown, entry: ServerEntry): boolean {
  return (
    isRecord(existing) &&
    Object.entries(entry).every(([field, value]) => isDeepStrictEqual(existing[field], value))
  );
}

/** A value whose objects have the usual prototype: those of the TOML parser have none. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}
