import type { ThreeWay, Union, UnionOrder } from "./union.ts";

/** Whether a channel is a Topic with `unique`. Besides the values that it holds, it stores all values that it has ever seen. */
export function isUniqueTopic(spec: unknown): boolean {
  const { lc_graph_name, unique } = (spec ?? {}) as { lc_graph_name?: unknown; unique?: unknown };
  return lc_graph_name === "Topic" && unique === true;
}

/** Merges the stored values of a Topic with `unique`. Both parts are merged as sets. The values of the side that began its work first come first. */
export function unionTopic({ base, ours, theirs }: ThreeWay, order: UnionOrder): Union {
  const [first, second] = order.ours <= order.theirs ? [ours, theirs] : [theirs, ours];
  const [before, one, other] = [partsOf(base), partsOf(first), partsOf(second)];
  return { value: [0, 1].map((part) => mergeSets(before[part]!, one[part]!, other[part]!)) };
}

/** The values seen and the values held. Older checkpoints have one list for both. */
function partsOf(stored: unknown): readonly (readonly unknown[])[] {
  if (!Array.isArray(stored)) return [[], []];
  const isPair = stored.length === 2 && stored.every((part) => Array.isArray(part));
  return isPair ? (stored as unknown[][]) : [stored, stored];
}

function mergeSets(base: readonly unknown[], one: readonly unknown[], other: readonly unknown[]): unknown[] {
  const all = new Set([...base, ...one, ...other]);
  return [...all].filter((item) => !base.includes(item) || (one.includes(item) && other.includes(item)));
}
