/** The tables of a schema of ours that hold threads, or what is kept for some time. */
const tables = [
  "writes",
  "blobs",
  "heads",
  "checkpoints",
  "thread_tags",
  "threads",
  "long_ids",
  "leases",
  "locks",
];

/**
 * The statement that empties a schema which was set up, for suites that want an empty storage for each test: setting up another
 * schema takes the server ten times as long.
 */
export const emptySchema = (schema: string): string =>
  `do $$ begin ${tables.map((table) => `delete from ${schema}.${table};`).join(" ")} end $$`;
