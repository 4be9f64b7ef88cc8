import { checkOptions, shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { msOf, type Duration } from "../contract/units.ts";

/** A hundred years. */
const longestMs = 36_500 * 86_400_000;

/**
 * How long items stay after their last change: all of them, or those of namespaces that begin with certain labels. `refreshOnRead`: also
 * after they were last read by `get`.
 */
export type ItemTtlOption =
  | Duration
  | readonly {
      readonly namespace: readonly string[];
      readonly ttl: Duration;
      readonly refreshOnRead?: boolean | undefined;
    }[];

/** How long an item of a namespace stays, in milliseconds; undefined: for ever. */
export type ItemTtl = (namespace: readonly string[]) => number | undefined;

type Rule = Exclude<ItemTtlOption, Duration>[number];
const names: OptionNames<Rule> = { namespace: true, ttl: true, refreshOnRead: true };

/** @throws InvalidOptionError */
export function ttlOf(option: ItemTtlOption | undefined): ItemTtl {
  const ruleOf = rulesOf(option);
  return (namespace) => ruleOf(namespace)?.ms;
}

/** The time that begins anew when an item is read. @throws InvalidOptionError */
export function refreshOf(option: ItemTtlOption | undefined): ItemTtl {
  const ruleOf = rulesOf(option);
  return (namespace) => {
    const rule = ruleOf(namespace);
    return rule?.refreshOnRead === true ? rule.ms : undefined;
  };
}

function rulesOf(
  option: ItemTtlOption | undefined,
): (namespace: readonly string[]) => { readonly ms: number; readonly refreshOnRead: boolean } | undefined {
  if (option === undefined) return () => undefined;
  if (!Array.isArray(option)) {
    const rule = { ms: checkedMs("ttl", option as Duration), refreshOnRead: false };
    return () => rule;
  }
  const rules = (option as readonly Rule[]).map((given, place) => {
    const field = `ttl[${place}]`;
    checkOptions(field, given, names, {}, field);
    const { namespace: labels, ttl, refreshOnRead = false } = given;
    if (!Array.isArray(labels) || !labels.every((label) => typeof label === "string"))
      throw new InvalidOptionError(
        `${field}.namespace`,
        shown(labels),
        'Pass the first labels of namespaces: ["cache"].',
      );
    if (typeof refreshOnRead !== "boolean")
      throw new InvalidOptionError(`${field}.refreshOnRead`, shown(refreshOnRead), "Pass true or false.");
    return { labels: [...(labels as string[])], ms: checkedMs(`${field}.ttl`, ttl), refreshOnRead };
  });
  // The rule that names most labels counts.
  rules.sort((a, b) => b.labels.length - a.labels.length);
  return (namespace) => rules.find(({ labels }) => labels.every((label, n) => namespace[n] === label));
}

function checkedMs(field: string, ttl: Duration): number {
  const ms = msOf(field, ttl);
  if (ms > 0 && ms <= longestMs) return ms;
  throw new InvalidOptionError(field, ttl, 'Pass a duration above 0 and up to "36500d", for example "30d".');
}
