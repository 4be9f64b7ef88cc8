import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { configOf, isLangGraphChannel, type TierSaver } from "@stratigraph/core";
import { valueless } from "./deltaAncestors.ts";
import type { ReadPoint } from "./readPoint.ts";

/**
 * Reads the values of a checkpoint's channels without a graph. The reducers of DeltaChannels aren't known here, so their values are
 * approximated: the last stored value is followed by everything written since, and later items replace earlier ones with the same id.
 */
export async function readValues(saver: TierSaver, point: ReadPoint): Promise<Map<string, unknown>> {
  const { channel_values } = await saver.coder.checkpoint(point.stored, point.body, {});
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(channel_values))
    if (!isLangGraphChannel(name)) values.set(name, isDeltaSnapshot(value) ? value.value : value);
  const channels = valueless(point.body);
  const histories = await saver.getDeltaChannelHistory({ config: configOf(point.at), channels });
  for (const channel of channels) {
    const { seed, writes } = histories[channel]!;
    if (writes.length === 0 && seed === undefined) continue;
    const items = [isDeltaSnapshot(seed) ? seed.value : seed, ...writes.map(([, , value]) => value)];
    values.set(channel, added(items.flat().filter((item) => item !== undefined)));
  }
  return values;
}

function added(items: readonly unknown[]): unknown[] {
  const found = new Map<unknown, unknown>();
  for (const item of items) {
    const id = (item as { id?: unknown } | null)?.id;
    found.set(typeof id === "string" ? id : Symbol("item"), item);
  }
  return [...found.values()];
}
