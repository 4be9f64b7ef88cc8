/**
 * Metadata filters. A record carries terms: a 32-bit hash per leaf of its metadata. A tier finds records that
 * carry all terms of a filter (by an index without values), and the saver compares them exactly after decoding.
 */

/** Keys that filters never use, and that differ in every checkpoint. They are left out of the index, but still compared. */
const unindexed: ReadonlySet<string> = new Set(["parents", "counters_since_delta_snapshot"]);

/** FNV-1a, 32 bits, signed (fits PostgreSQL's int4). */
export function term(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  return hash | 0;
}

/** Marks a record whose manifest holds a snapshot of a DeltaChannel. */
export function snapshotTerm(channel: string): number {
  return term(`snapshot:${channel}`);
}

/** Marks a record of a journal that says something of another thread's calls, or may do so. */
export const callsElsewhereTerm = term("stratigraph:calls-elsewhere");

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function leaves(path: string, value: unknown, into: Set<number>): void {
  if (Array.isArray(value)) {
    for (const item of value) leaves(`${path}[]`, item, into);
  } else if (isObject(value) && Object.getPrototypeOf(value) !== Date.prototype) {
    for (const [key, item] of Object.entries(value)) leaves(`${path}.${key}`, item, into);
  } else if (value !== undefined && typeof value !== "function" && typeof value !== "symbol") {
    into.add(term(`${path}=${typeof value}:${String(value)}`));
  }
}

/** Terms of metadata, or of a filter over it. */
export function metadataTerms(metadata: Readonly<Record<string, unknown>>): number[] {
  const found = new Set<number>();
  for (const [key, value] of Object.entries(metadata)) {
    if (!unindexed.has(key)) leaves(key, value, found);
  }
  return [...found].sort((a, b) => a - b);
}

function contains(value: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(value) && wanted.every((item) => value.some((candidate) => contains(candidate, item)))
    );
  }
  if (isObject(wanted)) {
    return (
      isObject(value) &&
      Object.entries(wanted).every(([key, item]) => Object.hasOwn(value, key) && contains(value[key], item))
    );
  }
  return Object.is(value, wanted);
}

/** Whether metadata holds all that a filter names: containment, as with PostgreSQL's `@>`. An undefined value asks for nothing. */
export function matches(
  metadata: Readonly<Record<string, unknown>>,
  filter: Readonly<Record<string, unknown>> | undefined,
): boolean {
  if (filter === undefined) return true;
  return Object.entries(filter).every(
    ([key, wanted]) =>
      wanted === undefined || (Object.hasOwn(metadata, key) && contains(metadata[key], wanted)),
  );
}
