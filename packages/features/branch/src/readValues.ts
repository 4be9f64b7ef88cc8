import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { StratigraphError, type TierSaver } from "@stratigraph/core";
import { AsStored, configOf, deltaChannelHistory, isLangGraphChannel } from "@stratigraph/core/internal";
import { deltaChannels, valueless } from "./deltaAncestors.ts";
import type { ReadPoint } from "./readPoint.ts";

/** The values of a checkpoint's channels, without a graph. DeltaChannels have those of {@link readDeltaValues}. */
export async function readValues(saver: TierSaver, point: ReadPoint): Promise<Map<string, unknown>> {
  const { channel_values } = await saver.coder.checkpoint(point.stored, point.body, {});
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(channel_values))
    if (!isLangGraphChannel(name)) values.set(name, isDeltaSnapshot(value) ? value.value : value);
  for (const [name, value] of await readDeltaValues(saver, point)) values.set(name, value);
  return values;
}

/**
 * The values of a checkpoint's DeltaChannels that the checkpoint itself doesn't hold, without a graph. Because the reducer isn't known
 * here, they are approximated: the last stored value followed by everything written since, where a later item replaces an earlier
 * one of the same id.
 * @param channels default: every channel that may be one
 * @param how.isCurrent whether the channels are those of the saver's version of the state. Default: those of the checkpoint, as stored
 * @throws CorruptionError
 */
export async function readDeltaValues(
  saver: TierSaver,
  point: ReadPoint,
  channels: readonly string[] = valueless(point.body),
  { isCurrent = false }: { readonly isCurrent?: boolean } = {},
): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>();
  const histories = await historiesOf(saver, point, channels, isCurrent);
  for (const [channel, { seed, writes }] of Object.entries(histories)) {
    if (writes.length === 0 && seed === undefined) continue;
    const items = [isDeltaSnapshot(seed) ? seed.value : seed, ...writes.map(([, , value]) => value)];
    values.set(channel, added(items.flat().filter((item) => item !== undefined)));
  }
  return values;
}

/**
 * The histories of channels, some of which may not be DeltaChannels. The ancestors hold nothing of those, and a fork may have been made
 * without these ancestors.
 */
async function historiesOf(
  saver: TierSaver,
  point: ReadPoint,
  channels: readonly string[],
  isCurrent: boolean,
): Promise<Awaited<ReturnType<TierSaver["getDeltaChannelHistory"]>>> {
  const { stateVersion } = point.body;
  try {
    if (isCurrent || stateVersion === saver.stateVersions.current)
      return await saver.getDeltaChannelHistory({ config: configOf(point.at), channels: [...channels] });
    const versions = new AsStored({ current: stateVersion, steps: [] });
    return await deltaChannelHistory(saver.tier, saver.coder, versions, point.at, channels, () =>
      Promise.resolve(undefined),
    );
  } catch (error) {
    if (!StratigraphError.is(error)) throw error;
    const { channels: lost } = error.data as { channels?: readonly string[] };
    const known = new Set(deltaChannels(point.body, point.metadata));
    if (lost === undefined || lost.length === 0 || lost.some((channel) => known.has(channel))) throw error;
    return await historiesOf(
      saver,
      point,
      channels.filter((channel) => !lost.includes(channel)),
      isCurrent,
    );
  }
}

function added(items: readonly unknown[]): unknown[] {
  const found = new Map<unknown, unknown>();
  for (const item of items) {
    const id = (item as { id?: unknown } | null)?.id;
    found.set(typeof id === "string" ? id : Symbol("item"), item);
  }
  return [...found.values()];
}
