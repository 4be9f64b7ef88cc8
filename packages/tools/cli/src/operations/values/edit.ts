import { formatPath } from "./formatPath.ts";
import { InvalidOptionError, SerializationError, type TierSaver } from "@stratigraph/core";
import type { Typed } from "@stratigraph/core/internal";
import { isCut } from "./cut.ts";
import { wrongPath, type Path } from "./path.ts";
import { isMessage, isRedacted } from "./records.ts";
import { replaced } from "./resolve.ts";
import { jsonOf } from "./view.ts";

/** How many levels JSON that is given may have at most: as many as the serde can read back. */
const mostLevels = 3000;

/**
 * The value of a channel after a part of it is set, revived by the saver's serde: a message stays a message.
 * @param before the value before; absent if the channel has none
 * @param path of the part; empty for the whole value
 * @param text the new part, as JSON of the serde
 * @throws InvalidOptionError
 */
export async function edited(
  saver: TierSaver,
  before: Typed | undefined,
  path: Path,
  text: string,
): Promise<unknown> {
  const part = parsed("value", text);
  const json = before === undefined ? undefined : jsonOf(before);
  const hadMessages = areMessages(json?.value);
  if (path.length === 0) return await fitting(saver, hadMessages, part);
  if (json === undefined)
    throw wrongPath(
      formatPath(path),
      before === undefined
        ? "The channel has no value: set it as a whole."
        : "The value isn't JSON: set it as a whole.",
    );
  const root = replaced(json.value, path, part);
  if (root === undefined) throw wrongPath(formatPath(path), "It leads nowhere in this value.");
  return await fitting(saver, hadMessages, root);
}

/** The revived value. Messages may only be replaced by messages: the graph would fail with anything else. */
async function fitting(saver: TierSaver, hadMessages: boolean, json: unknown): Promise<unknown> {
  const next = await revived(saver, "value", json);
  if (!hadMessages || (Array.isArray(json) && json.every(isMessage))) return next;
  throw new InvalidOptionError(
    "value",
    "something other than a list of messages, in a channel of messages",
    "Write messages as show prints them with JSON as its output, or set a part of one with `path`, such as [0].content.",
  );
}

function areMessages(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isMessage);
}

/**
 * A value that was given as the serde's JSON.
 * @param field which input it is
 * @throws InvalidOptionError
 */
export async function givenValue(saver: TierSaver, field: string, text: string): Promise<unknown> {
  return await revived(saver, field, parsed(field, text));
}

/** As {@link givenValue}, for JSON that is already parsed. @throws InvalidOptionError */
export async function givenJson(saver: TierSaver, field: string, json: unknown): Promise<unknown> {
  refuseUnfit(field, json);
  return await revived(saver, field, json);
}

function parsed(field: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new InvalidOptionError(
      field,
      `text that is not JSON (${(cause as Error).message})`,
      'Write a text in quotes: "Hello".',
    );
  }
  refuseUnfit(field, value);
  return value;
}

/** @throws InvalidOptionError if JSON is nested too deeply to be walked through, or something was left out of it */
function refuseUnfit(field: string, value: unknown): void {
  if (isDeeperThan(value, mostLevels))
    throw new InvalidOptionError(
      field,
      `JSON that is nested deeper than ${mostLevels} levels`,
      "Flatten the value.",
    );
  const left = leftOut(value);
  if (left === undefined) return;
  throw new InvalidOptionError(
    field,
    `JSON in which something was ${left}`,
    "Show the whole part first, or set a smaller part with a path.",
  );
}

/** Goes down level by level: a recursive function would need a stack as deep as the value. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true;
    level = level.flatMap((part) =>
      typeof part === "object" && part !== null ? (Object.values(part) as unknown[]) : [],
    );
  }
  return false;
}

/** Whether something was cut or redacted in JSON that is to be stored. */
function leftOut(value: unknown): "cut" | "redacted" | undefined {
  if (isCut(value)) return "cut";
  if (isRedacted(value)) return "redacted";
  if (typeof value !== "object" || value === null) return undefined;
  for (const part of Object.values(value)) {
    const found = leftOut(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function revived(saver: TierSaver, field: string, json: unknown): Promise<unknown> {
  try {
    return (await saver.serde.loadsTyped("json", Buffer.from(JSON.stringify(json)))) as unknown;
  } catch (error) {
    if (!SerializationError.is(error)) throw error;
    throw new InvalidOptionError(field, "JSON that stands for nothing that can be stored", error.message);
  }
}
