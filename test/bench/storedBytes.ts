import pg from "pg";

/** Bytes that a schema occupies, after VACUUM. */
export interface StoredBytes {
  /** All tables with their TOAST, free space and visibility maps. */
  tables: number;
  indexes: number;
  total: number;
  /** Contents of every bytea column, without any overhead of PostgreSQL. */
  payload: number;
  /** The same by column, such as `blobs.bytes`. */
  columns: Record<string, number>;
}

/** Vacuums every table of `schema` and measures it. */
export async function storedBytes(url: string, schema: string): Promise<StoredBytes> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I.%I', n.nspname, c.relname) AS name
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relkind IN ('r', 'm')`,
      [schema],
    );
    const stored: StoredBytes = { tables: 0, indexes: 0, total: 0, payload: 0, columns: {} };
    for (const { name } of tables.rows) {
      await client.query(`VACUUM ${name}`);
      const { rows } = await client.query<Record<"tables" | "indexes" | "total", string>>(
        `SELECT pg_table_size($1::regclass) AS tables, pg_indexes_size($1::regclass) AS indexes,
                pg_total_relation_size($1::regclass) AS total`,
        [name],
      );
      stored.tables += Number(rows[0]?.tables);
      stored.indexes += Number(rows[0]?.indexes);
      stored.total += Number(rows[0]?.total);
    }
    const columns = await client.query<{ name: string; sql: string }>(
      `SELECT table_name || '.' || column_name AS name,
              format('SELECT coalesce(sum(octet_length(%I)), 0) AS bytes FROM %I.%I',
                     column_name, table_schema, table_name) AS sql
         FROM information_schema.columns WHERE table_schema = $1 AND data_type = 'bytea'`,
      [schema],
    );
    for (const { name, sql } of columns.rows) {
      const { rows } = await client.query<{ bytes: string }>(sql);
      stored.columns[name] = Number(rows[0]?.bytes);
      stored.payload += Number(rows[0]?.bytes);
    }
    return stored;
  } finally {
    await client.end();
  }
}
