import pg from "pg";

/** A connection string whose connections the server lists under a name. */
export function named(url: string, name: string): string {
  const address = new URL(url);
  address.searchParams.set("application_name", name);
  return address.href;
}

/**
 * Resolves once the server has finished the statements of a killed process. Until then the last one may still be committed, and
 * a run that is resumed before that loses the race against it, as against any other writer.
 */
export async function gone(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (let left = 1; left > 0; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const text = "select from pg_stat_activity where application_name = $1";
    const { rowCount } = await client.query(text, [name]);
    left = rowCount ?? 0;
  }
  await client.end();
}
