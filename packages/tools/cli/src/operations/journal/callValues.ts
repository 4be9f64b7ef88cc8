import { NotFoundError, type TierSaver } from "@stratigraph/core";
import type { RecordedCall } from "@stratigraph/journal";
import { shares } from "../values/cut.ts";
import { parsePath, wrongPath, type Path } from "../values/path.ts";
import { isObject, type JsonObject, isRedacted, redactedRecord } from "../values/records.ts";
import type { Redaction } from "../values/redaction.ts";
import { resolve } from "../values/resolve.ts";
import { jsonOf, viewOf, type Shown, type ValueView } from "../values/view.ts";

/** Arguments and result of a call as they are shown. An absent value was erased, cut off, not kept, or isn't there yet. */
export interface CallValues {
  readonly args?: ValueView;
  readonly result?: ValueView;
}

/** What is shown of the values of calls. */
export interface CallValuesOptions {
  readonly redaction: Redaction;
  /** Limit for arguments and result together, in bytes. */
  readonly maxBytes: number;
  /** Only this part: its path begins with `args` or `result`. */
  readonly path?: string | undefined;
}

/** Reads and shows the arguments and the result of a recorded call. @throws InvalidOptionError if the path leads nowhere */
export async function callValues(
  saver: TierSaver,
  call: Pick<RecordedCall, "tool" | "args" | "result">,
  options: CallValuesOptions,
): Promise<CallValues> {
  const [args, result] = await Promise.all([call.args(), call.result()]);
  return await shownValues(saver, { tool: call.tool, args, result }, options);
}

/** As {@link callValues}, for values that were already read. */
export async function shownValues(
  saver: TierSaver,
  { tool, args, result }: { readonly tool: string; readonly args: unknown; readonly result?: unknown },
  { redaction, maxBytes, path }: CallValuesOptions,
): Promise<CallValues> {
  const values = {
    args: await serialized(saver, args),
    result: await serialized(saver, result),
  };
  const shown = redacted(tool, values, redaction);
  const where = path === undefined ? undefined : partOf(path);
  const found: [keyof CallValues, Shown][] = [];
  for (const name of ["args", "result"] as const) {
    const value = values[name];
    if (value === undefined || (where !== undefined && where.name !== name)) continue;
    const part = value.json === undefined ? undefined : resolve(shown[name], where?.rest ?? []);
    if (part === undefined && where !== undefined)
      throw wrongPath(
        path!,
        `It leads nowhere in the ${name === "args" ? "arguments" : "result"} of this call.`,
      );
    const { type, bytes } = value;
    found.push([
      name,
      { type, bytes, ...(part === undefined ? {} : { found: { ...part, path: [name, ...part.path] } }) },
    ]);
  }
  if (where !== undefined && found.length === 0) throw wrongPath(path!, "This call has no such value.");
  const given = shares(
    found.map(([, { bytes }]) => bytes),
    maxBytes,
  );
  return Object.fromEntries(found.map(([name, part], n) => [name, viewOf(part, Math.max(200, given[n]!))]));
}

interface Serialized {
  readonly type: string;
  readonly bytes: number;
  readonly json: { readonly value: unknown } | undefined;
}

async function serialized(saver: TierSaver, value: unknown): Promise<Serialized | undefined> {
  if (value === undefined) return undefined;
  const [type, bytes] = await saver.serde.dumpsTyped(value);
  return { type, bytes: bytes.length, json: jsonOf([type, bytes]) };
}

/**
 * Takes out what isn't to be shown: by paths such as `calls.pay.args.card`, and by paths of messages, because a model's message has
 * the arguments, and a tool's message the result.
 */
function redacted(
  tool: string,
  { args, result }: { readonly [Name in keyof CallValues]: Serialized | undefined },
  redaction: Redaction,
): { args: unknown; result: unknown } {
  const given: JsonObject = {};
  if (args?.json !== undefined) given["args"] = args.json.value;
  if (result?.json !== undefined) given["result"] = result.json.value;
  if (!redaction.isActive) return { args: given["args"], result: given["result"] };
  const own = redaction.apply("calls", given, [tool]);
  if (!isObject(own) || isRedacted(own)) return { args: redactedRecord, result: redactedRecord };
  const fields = isMessageFields(own["result"]) ? own["result"] : { content: own["result"] };
  const message = redaction.message({ ...fields, tool_calls: [{ name: tool, args: own["args"] }] });
  if (!isObject(message) || isRedacted(message)) return { args: redactedRecord, result: redactedRecord };
  const { tool_calls: calls, ...left } = message;
  const call = Array.isArray(calls) ? (calls[0] as unknown) : undefined;
  return {
    args: isObject(call) && !isRedacted(call) ? call["args"] : redactedRecord,
    result: isMessageFields(own["result"]) ? left : left["content"],
  };
}

/** Whether a result consists of the fields of a tool's message, which is how the journal keeps one. */
function isMessageFields(result: unknown): result is JsonObject {
  return (
    isObject(result) &&
    "content" in result &&
    ("status" in result || "name" in result || "artifact" in result)
  );
}

function partOf(path: string): { readonly name: "args" | "result"; readonly rest: Path } {
  const [name, ...rest] = parsePath(path);
  if (name === "args" || name === "result") return { name, rest };
  throw wrongPath(path, "It begins with args or result: args.items[3].");
}

/** The call with this fingerprint, or the only one whose fingerprint begins with it. @throws NotFoundError */
export function callOf(calls: readonly RecordedCall[], given: string, thread: string): RecordedCall {
  const found = calls.filter(({ fingerprint }) => fingerprint.startsWith(given));
  const [call] = found;
  if (call !== undefined && (found.length === 1 || given === call.fingerprint)) return call;
  const why =
    call === undefined
      ? `has no call ${JSON.stringify(given)}. "stratigraph calls" lists them.`
      : `has ${found.length} calls that begin with ${JSON.stringify(given)}. Write more of it.`;
  throw new NotFoundError(`The journal of thread ${JSON.stringify(thread)} ${why}`, { threadId: thread });
}
