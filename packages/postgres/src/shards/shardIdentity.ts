import { StratigraphError } from "@stratigraph/core";

/** What a database says of itself: which shard it is, of how many, of which set. */
export interface ShardIdentity {
  readonly number: number;
  readonly shards: number;
  /** A random UUID that all databases of a set share. */
  readonly family: string;
  /** On the first shard: whether every database of the set has its identity. */
  readonly complete: boolean;
}

/** The identity in the rows of a statement; undefined where the database has none. */
export function identityIn(rows: readonly Readonly<Record<string, unknown>>[]): ShardIdentity | undefined {
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    number: Number(row["number"]),
    shards: Number(row["shards"]),
    family: row["family"] as string,
    complete: row["complete"] === true,
  };
}

/** Where a database stands in the list that was given. */
type Place = Pick<ShardIdentity, "number" | "shards">;

/** What the errors carry, so that it can be acted on. */
function dataOf({ number, shards }: Place, found?: ShardIdentity): Record<string, unknown> {
  return { field: "shards", expected: { number, shards }, ...(found === undefined ? {} : { found }) };
}

/** How a place is told, counting from 1 as people do. */
function told({ number, shards }: Place): string {
  return `shard ${number + 1} of ${shards}`;
}

/**
 * Checks that a database is the shard for which it was given: with another number or order, threads would be looked for where they
 * aren't, and begun anew.
 * @param family that of the other shards, as far as it is known
 * @throws StratigraphError "MISCONFIGURED"
 */
export function checkIdentity(found: ShardIdentity, expected: Place, family: string | undefined): void {
  const isOther = family !== undefined && found.family !== family;
  if (found.number === expected.number && found.shards === expected.shards && !isOther) return;
  const why = isOther ? `${told(found)} of another set` : told(found);
  throw new StratigraphError(
    "MISCONFIGURED",
    `The database given as ${told(expected)} is ${why}. Name all databases of the set, in the order in which they were set up. To ` +
      "have more or fewer of them, move the threads to a new set.",
    dataOf(expected, found),
  );
}

/** The error of a database that has no identity. @param lost whether it had one: the set was complete */
export function noIdentity(expected: Place, lost: boolean): StratigraphError {
  return lost
    ? new StratigraphError(
        "MISCONFIGURED",
        `The database given as ${told(expected)} isn't set up, but its set was complete: this is another database, or its contents are ` +
          "lost. Correct the connection string, or restore it from a backup.",
        dataOf(expected),
      )
    : new StratigraphError(
        "NOT_SET_UP",
        `The database given as ${told(expected)} isn't one yet. Call setup() while all databases of the set can be reached.`,
        dataOf(expected),
      );
}

/** The error of a database that was used without shards before. */
export function hasThreads(expected: Place): StratigraphError {
  return new StratigraphError(
    "MISCONFIGURED",
    `The database given as ${told(expected)} has threads that were stored without shards. Begin with empty databases or schemas, and ` +
      "move the threads there: npx stratigraph move.",
    dataOf(expected),
  );
}

/** The error of a shard that is opened as if it were everything. */
export function isShard(schema: string, found: ShardIdentity): StratigraphError {
  return new StratigraphError(
    "MISCONFIGURED",
    `Schema ${schema} is ${told(found)}. Open all of them: postgres({ shards: [url, url, …] }).`,
    { field: "shards", found },
  );
}
