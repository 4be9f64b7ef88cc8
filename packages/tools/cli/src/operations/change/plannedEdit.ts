import { NotFoundError } from "@stratigraph/core";
import { configOf, didYouMean, type Typed } from "@stratigraph/core/internal";
import type { Context } from "../table/context.ts";
import { edited } from "../values/edit.ts";
import { parsePath } from "../values/path.ts";
import { redactedView } from "../values/redactedView.ts";
import { Redaction } from "../values/redaction.ts";
import type { State } from "../values/state.ts";
import { valueLines } from "../values/text.ts";
import { resolve } from "../values/resolve.ts";
import { jsonOf, shownValue, viewOf, type ValueView } from "../values/view.ts";

/** How much is shown of the value before, and of the value after, in bytes each. */
const shownBytes = 2000;

/** An edit as it was given. */
export interface GivenEdit {
  readonly channel: string;
  /** JSON of the serde. */
  readonly value: string;
  readonly path: string | undefined;
  /** The graph that rebuilds a DeltaChannel. */
  readonly graph: string | undefined;
  /** Whether the channel may be one that the checkpoint doesn't have. */
  readonly create: boolean;
}

/** An edit that fits its checkpoint and isn't written yet. */
export interface PlannedEdit {
  /** The channel's new value, revived. */
  readonly next: unknown;
  /** The part that changes, before and after. */
  readonly before: ValueView | undefined;
  readonly after: ValueView;
}

/**
 * The value that an edit would give a channel of a checkpoint.
 * @throws NotFoundError, InvalidOptionError; StratigraphError "SERIALIZATION"
 */
export async function plannedEdit(
  context: Context,
  state: State,
  { channel, value, path, graph, create }: GivenEdit,
): Promise<PlannedEdit> {
  const { saver } = state;
  const found = await state.channel(channel);
  const before =
    found?.rebuilt === true && path !== undefined ? await rebuiltBy(context, graph, state, channel) : found;
  if (before === undefined && !create) throw noChannel(state, channel);
  const where = parsePath(path ?? "");
  const next = await edited(saver, before?.stored, where, value);
  const redaction = new Redaction(context.redact);
  const view = (typed: Typed): ValueView | undefined => {
    const part = shownValue(channel, typed, redaction, where);
    if (part !== undefined) return viewOf(part, shownBytes);
    // If the value exists, it is in a part that isn't shown.
    return resolve(jsonOf(typed)?.value, where) === undefined ? undefined : redactedView(typed);
  };
  return {
    next,
    before: before === undefined ? undefined : view(before.stored),
    after: view(await saver.serde.dumpsTyped(next))!,
  };
}

/** What an edit changes, for people. */
export function* changeLines({
  before,
  after,
}: Partial<Pick<PlannedEdit, "before" | "after">>): Iterable<string> {
  for (const [sign, view] of [
    ["-", before],
    ["+", after],
  ] as const)
    for (const line of view?.value === undefined ? [] : valueLines(view.value)) yield `  ${sign} ${line}`;
}

function noChannel(state: State, channel: string): NotFoundError {
  const { threadId, checkpointId } = state.point.at;
  const known = state.channels();
  const meant = didYouMean(channel, known);
  return new NotFoundError(
    `Checkpoint ${checkpointId} of thread ${JSON.stringify(threadId)} has no value in the channel ${JSON.stringify(channel)}. ` +
      `${meant ?? `It has ${known.join(", ")}.`} Pass \`create\` to set it nevertheless.`,
    { ...state.point.at, channel },
  );
}

/**
 * The value of a DeltaChannel as the graph rebuilds it. Without its reducer the value is an approximation, which must not be stored.
 * @throws NotFoundError if there is no graph
 */
async function rebuiltBy(
  context: Context,
  name: string | undefined,
  state: State,
  channel: string,
): Promise<{ readonly stored: Typed }> {
  let graph;
  try {
    graph = await context.graph(name);
  } catch (cause) {
    throw new NotFoundError(
      `The channel ${JSON.stringify(channel)} is a DeltaChannel, whose value only its graph can compute. Name the graph in the config (graphs), or set the whole value instead of a part. ` +
        (cause instanceof Error ? cause.message : ""),
      { channel },
    );
  }
  const { values } = (await graph.getState(configOf(state.point.at))) as unknown as {
    readonly values: Readonly<Record<string, unknown>>;
  };
  return { stored: await state.saver.serde.dumpsTyped(values[channel]) };
}
