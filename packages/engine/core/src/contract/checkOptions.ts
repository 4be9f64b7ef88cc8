import { InvalidOptionError } from "./errors.ts";

/** The names of all options of `T`; one that is forgotten does not compile. */
export type OptionNames<T> = { readonly [Name in keyof Required<T>]: true };

/** Names that other libraries use, and what to write here instead. */
export type OptionAdvice = Readonly<Record<string, string>>;

/** Longest text that an error shows as it is, in UTF-16 units. */
const longestShown = 64;

/** How a found value is shown in an error: text and numbers as they are, other things by their kind. Never a whole object. */
export function shown(value: unknown): string {
  if (typeof value !== "string") return kindOf(value);
  return value.length > longestShown ? `${value.slice(0, longestShown)}…` : value;
}

/** As {@link shown}, for a value that may be a secret in the wrong place: a text is only called a text. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "string") return "text";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "function" ? "a function" : String(value);
}

/** Longest name that an error shows, in UTF-16 units. */
const longestName = 40;

/** How an unknown name is shown in an error: unchanged if it looks like a name. Other text in its place may be a URL with a password. */
export function shownName(name: string): string {
  return name.length <= longestName && /^[\w-]+$/.test(name) ? name : "(a name that isn't shown)";
}

/** Picks the options of `T` from an object that has more. Absent and undefined ones are left out. */
export function pickOptions<T>(given: T, names: OptionNames<T>): T {
  const known = Object.keys(names) as (keyof T & string)[];
  return Object.fromEntries(
    known.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  ) as T;
}

/**
 * Refuses options that aren't an object, and unknown names: a misspelt option would be ignored, and with `prune` that deletes for good.
 * Absent options are fine, and so are names whose value is `undefined`.
 *
 * @param what what takes the options, such as "prune"
 * @param advice what to write instead of names that other savers have
 * @param field the option that holds these options, such as "breaker"
 * @throws InvalidOptionError that names the option, says what was found and which name was probably meant
 */
export function checkOptions<T>(
  what: string,
  given: T | undefined,
  names: OptionNames<T>,
  advice: OptionAdvice = {},
  field?: string,
): void {
  if (given === undefined) return;
  const known = Object.keys(names);
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const example = known.length === 0 ? "nothing" : `an object of ${known.join(", ")}`;
    throw new InvalidOptionError(field ?? "options", kindOf(given), `${what} takes ${example}.`);
  }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || Object.hasOwn(names, name)) continue;
    const meant = Object.hasOwn(advice, name) ? advice[name] : didYouMean(name, known);
    const named = shownName(name);
    const has = known.length === 0 ? "none" : known.join(", ");
    throw new InvalidOptionError(
      field === undefined ? named : `${field}.${named}`,
      kindOf(value),
      `${what} has no such option.${meant === undefined ? "" : ` ${meant}`} Its options: ${has}.`,
    );
  }
}

/** A sentence that names the known name which is spelt most like `name`; undefined if none is like it. */
export function didYouMean(name: string, known: readonly string[]): string | undefined {
  const plain = plainOf(name);
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceOf(plain, plainOf(candidate)) }))
    .sort((a, b) => a.distance - b.distance)[0];
  const near = ranked !== undefined && ranked.distance <= Math.max(1, Math.floor(plain.length / 3));
  return near ? `Did you mean ${ranked.candidate}?` : undefined;
}

/** One text for all spellings of the same words (`keep_last`, `keepLast`, `KeepLast`). */
function plainOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** Edit distance with neighbours swapped counted as one edit (optimal string alignment). Names are short. */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(last[column]! + 1, next[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (row > 1 && column > 1 && swapped) cost = Math.min(cost, before[column - 2]! + 1);
      next.push(cost);
    }
    before = last;
    last = next;
  }
  return last[b.length]!;
}
