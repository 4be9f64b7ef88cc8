import { shown } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { msOf, type Duration } from "../contract/units.ts";

/** A hundred years. */
const longestMs = 36_500 * 86_400_000;

/** How long items stay after their last change: all of them, or those of namespaces that begin with certain labels. */
export type ItemTtlOption =
  | Duration
  | readonly { readonly namespace: readonly string[]; readonly ttl: Duration }[];

/** How long an item of a namespace stays, in milliseconds; undefined: for ever. */
export type ItemTtl = (namespace: readonly string[]) => number | undefined;

/** @throws InvalidOptionError */
export function ttlOf(option: ItemTtlOption | undefined): ItemTtl {
  if (option === undefined) return () => undefined;
  if (!Array.isArray(option)) {
    const ms = checkedMs("ttl", option as Duration);
    return () => ms;
  }
  const rules = option.map((rule: { namespace?: unknown; ttl: Duration } | undefined, place) => {
    const field = `ttl[${place}]`;
    const labels = rule?.namespace;
    if (!Array.isArray(labels) || !labels.every((label) => typeof label === "string"))
      throw new InvalidOptionError(
        `${field}.namespace`,
        shown(labels),
        'Pass the first labels of namespaces: ["cache"].',
      );
    return { labels: [...(labels as string[])], ms: checkedMs(`${field}.ttl`, rule!.ttl) };
  });
  // The rule that names most labels counts.
  rules.sort((a, b) => b.labels.length - a.labels.length);
  return (namespace) => rules.find(({ labels }) => labels.every((label, n) => namespace[n] === label))?.ms;
}

function checkedMs(field: string, ttl: Duration): number {
  const ms = msOf(field, ttl);
  if (ms > 0 && ms <= longestMs) return ms;
  throw new InvalidOptionError(field, ttl, 'Pass a duration above 0 and up to "36500d", for example "30d".');
}
