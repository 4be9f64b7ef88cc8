import type { Address } from "../contract/tier.ts";
import { stepFailed } from "./errors.ts";
import type { StateValue } from "./options.ts";
import type { Change, Move, Stage } from "./stateVersions.ts";

/** Values, or updates, by channel. */
export type Values = Readonly<Record<string, unknown>>;
type Kind = StateValue["kind"];

/** Where LangGraph's `Overwrite` has its value, in its class and in what JSON makes of it. */
export const overwrite = "__overwrite__";

/** What a move makes of values by channel. */
export async function applied(
  stage: Stage,
  move: Move,
  at: Address,
  kind: Kind,
  found: Values,
): Promise<Values> {
  if (move.to.length === 0) return {};
  const channel = nameOf(move);
  const given = move.takesMany ? found : Object.values(found)[0];
  const made = move.change === undefined ? given : await called(stage, move.change, at, kind, channel, given);
  if (made === undefined) return {};
  if (!move.makesMany) return { [move.to[0]!]: made };
  const expected = `what it returns must be an object of ${move.to.join(", ")}`;
  if (!isRecord(made)) throw stepFailed(at, channel, stage, expected);
  const other = Object.keys(made).find((name) => !move.to.includes(name));
  if (other !== undefined)
    throw stepFailed(at, channel, stage, `${expected}, and has ${JSON.stringify(other)}`);
  return Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined));
}

/** What a function of a step makes of a value. @throws StratigraphError "STATE_STEP_FAILED" */
export async function called(
  { from, to }: Pick<Stage, "from" | "to">,
  change: Change | false,
  at: Address,
  kind: Kind,
  channel: string,
  value: unknown,
): Promise<unknown> {
  if (change === false)
    throw stepFailed(
      at,
      channel,
      { from, to },
      `it has no function for a value of kind "${kind}" in this direction`,
    );
  const { threadId, namespace, checkpointId } = at;
  try {
    return await change(value, { kind, threadId, namespace, checkpointId, channel, from, to });
  } catch (cause) {
    throw stepFailed(at, channel, { from, to }, "its function threw", cause);
  }
}

/** Sends that are due: one, or lists of them. */
export async function convertSends(stage: Stage, at: Address, sends: unknown): Promise<unknown> {
  if (stage.sends === undefined) return sends;
  if (Array.isArray(sends)) return await Promise.all(sends.map((each) => convertSends(stage, at, each)));
  if (!isRecord(sends) || typeof sends["node"] !== "string" || !("args" in sends)) return sends;
  return copyOf(sends, { args: await called(stage, stage.sends, at, "send", sends["node"], sends["args"]) });
}

/** The channels of a move, for an error. */
export function nameOf({ from, to }: Move): string {
  return (from.length > 0 ? from : to).join(", ");
}

/** A record without some of its names. */
export function without<T>(
  record: Readonly<Record<string, T>>,
  names: ReadonlySet<string>,
): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.has(name)));
}

export function mapValues(record: Values, change: (value: unknown) => unknown): Values {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isOverwrite(value: unknown): value is Record<typeof overwrite, unknown> {
  return isRecord(value) && overwrite in value;
}

/** What an Overwrite holds, or the value itself. */
export function bareOf(value: unknown): unknown {
  return isOverwrite(value) ? value[overwrite] : value;
}

/** A copy of an object, of the same class, with other fields. */
export function copyOf<T extends object>(object: T, fields: object): T {
  return Object.assign(Object.create(Object.getPrototypeOf(object) as object) as T, object, fields);
}
