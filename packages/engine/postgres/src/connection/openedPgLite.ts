/** The used part of a PGlite database. */
export interface PgLite {
  query(
    text: string,
    values: unknown[],
    options: {
      parsers: Record<number, (value: string) => unknown>;
      serializers: Record<number, (value: unknown) => string>;
    },
  ): Promise<{ rows: unknown[] }>;
  exec(text: string): Promise<unknown>;
  close(): Promise<void>;
}

/** An open database, and a function that unlocks its folder. */
export interface OpenedPgLite {
  readonly database: PgLite;
  readonly release: () => void;
}
