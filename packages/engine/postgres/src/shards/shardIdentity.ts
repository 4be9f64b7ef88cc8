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

/** The identity in the rows of a statement; undefined if the database has none. */
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

/** The place of a database in the list of all databases. */
type Place = Pick<ShardIdentity, "number" | "shards">;

/** The `data` of the errors below. */
function dataOf({ number, shards }: Place, found?: ShardIdentity): Record<string, unknown> {
  return { field: "shards", expected: { number, shards }, ...(found === undefined ? {} : { found }) };
}

/** A place as text for people, who count from 1. */
function told({ number, shards }: Place): string {
  return `shard ${number + 1} of ${shards}`;
}

/**
 * Checks that a database is the shard of its place in the list. With another number or order of databases, threads would be looked
 * for in the wrong database, not found, and begun anew.
 * @param family the family of the other shards, if it is known
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

/** The error for a database without an identity. @param lost whether it must have had one, because the set was complete */
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

/** The error for a database that was used without shards before. */
export function hasThreads(expected: Place): StratigraphError {
  return new StratigraphError(
    "MISCONFIGURED",
    `The database given as ${told(expected)} has threads that were stored without shards. Begin with empty databases or schemas, and ` +
      "move the threads there: npx stratigraph move.",
    dataOf(expected),
  );
}

/** The error for a shard that is opened as if it were the only database. */
export function isShard(schema: string, found: ShardIdentity): StratigraphError {
  return new StratigraphError(
    "MISCONFIGURED",
    `Schema ${schema} is ${told(found)}. Open all of them: postgres({ shards: [url, url, …] }).`,
    { field: "shards", found },
  );
}
