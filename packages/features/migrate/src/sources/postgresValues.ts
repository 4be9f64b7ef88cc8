import { valueOf } from "./decode.ts";
import { query, type SourceClient, type Tables } from "./postgresTables.ts";

/** How many bytes of values of a thread are kept, to be shared by checkpoints. */
const keptBytes = 128_000_000;

interface ValueRow {
  readonly channel: string;
  readonly version: string;
  readonly type: string;
  readonly blob: Uint8Array | null;
}

/** Values by channel and version. A checkpoint shares most of its values with the one before, so that the recent ones are kept. */
export class PostgresValues {
  readonly #tables: Tables;
  readonly #client: SourceClient;
  readonly #threadId: string;
  readonly #kept = new Map<string, { readonly value: unknown; readonly bytes: number }>();
  readonly #lacking = new Set<string>();
  #bytes = 0;

  constructor(tables: Tables, client: SourceClient, threadId: string) {
    this.#tables = tables;
    this.#client = client;
    this.#threadId = threadId;
  }

  /**
   * The values of a checkpoint, and the channels without a row. For a channel without a value the official saver writes a row of type
   * "empty", so a missing row is a loss. Each version is reported once.
   */
  async of(
    namespace: string,
    versions: Readonly<Record<string, number | string>>,
  ): Promise<{ readonly values: Record<string, unknown>; readonly lacking: readonly string[] }> {
    const wanted = Object.entries(versions).map(([channel, version]) => ({
      channel,
      version: String(version),
    }));
    const keyOf = (channel: string, version: string): string => JSON.stringify([namespace, channel, version]);
    const missing = wanted.filter(({ channel, version }) => !this.#kept.has(keyOf(channel, version)));
    if (missing.length > 0) {
      const args = [
        this.#threadId,
        namespace,
        missing.map(({ channel }) => channel),
        missing.map(({ version }) => version),
      ];
      const rows = await query<ValueRow>(this.#tables, this.#client, "pgValues", args);
      for (const { channel, version, type, blob } of rows) {
        const isEmpty = type === "empty";
        const value = isEmpty
          ? undefined
          : await this.#tables.decode(valueOf(channel), type, blob ?? new Uint8Array());
        this.#keep(keyOf(channel, version), { value, bytes: blob?.length ?? 0 });
      }
    }
    const lacking = missing.filter(({ channel, version }) => {
      const key = keyOf(channel, version);
      if (this.#kept.has(key) || this.#lacking.has(key)) return false;
      this.#lacking.add(key);
      return true;
    });
    const found = wanted.flatMap(({ channel, version }) => {
      const key = keyOf(channel, version);
      const kept = this.#kept.get(key);
      if (kept === undefined || kept.value === undefined) return [];
      // The values that were used last are dropped last.
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return [[channel, kept.value] as const];
    });
    this.#shrink();
    return { values: Object.fromEntries(found), lacking: lacking.map(({ channel }) => channel) };
  }

  #keep(key: string, value: { readonly value: unknown; readonly bytes: number }): void {
    this.#kept.set(key, value);
    this.#bytes += value.bytes;
  }

  #shrink(): void {
    for (const [key, { bytes }] of this.#kept) {
      if (this.#bytes <= keptBytes) return;
      this.#kept.delete(key);
      this.#bytes -= bytes;
    }
  }
}
