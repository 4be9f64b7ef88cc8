import pg from "pg";
import { waitUntil } from "./process.ts";

/** A connection string whose connections the server lists under a name. */
export function named(url: string, name: string): string {
  const address = new URL(url);
  address.searchParams.set("application_name", name);
  return address.href;
}

/**
 * Resolves once the server has ended the statements of a killed process. Until then its last statement may still be committed, and
 * a run that is resumed earlier would lose a race against it, as against any other writer.
 */
export async function gone(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const text = "select from pg_stat_activity where application_name = $1";
  await waitUntil(`the end of ${name}`, async () => (await client.query(text, [name])).rowCount === 0);
  await client.end();
}
