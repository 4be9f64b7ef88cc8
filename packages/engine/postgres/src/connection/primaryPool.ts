import type { PgPool, PgPoolClient } from "./client.ts";
import { isConnectionFailure, isReadOnly } from "./failures.ts";
import type { CountedPool } from "./fullPool.ts";

interface OpenPool {
  readonly pool: PgPool;
  /** Statements that were handed to the pool and have not ended. */
  calls: number;
}

/**
 * A pool of connections to the primary, the one of several servers that takes writes. It looks for the primary again after a connection
 * failed or the server was read-only. It repeats no statement; the executor does.
 */
export class PrimaryPool implements PgPool {
  readonly #find: () => Promise<string>;
  readonly #open: (url: string) => PgPool;
  #current: OpenPool | undefined;
  #finding: Promise<OpenPool> | undefined;
  #ended = false;

  /**
   * @param find the connection string of the primary
   * @param open opens a pool for it
   */
  constructor(find: () => Promise<string>, open: (url: string) => PgPool) {
    this.#find = find;
    this.#open = open;
  }

  /** The options of the pool in use; empty while no primary is known. */
  get options(): object {
    return this.#current?.pool.options ?? {};
  }

  /** As `pg.Pool` has it: what opens a connection with these options. */
  get Client(): unknown {
    return (this.#current?.pool as { Client?: unknown } | undefined)?.Client;
  }

  /** As `pg.Pool` has them: connections, those that are free, and who waits for one. */
  get totalCount(): number | undefined {
    return (this.#current?.pool as CountedPool | undefined)?.totalCount;
  }
  get idleCount(): number | undefined {
    return (this.#current?.pool as CountedPool | undefined)?.idleCount;
  }
  get waitingCount(): number | undefined {
    return (this.#current?.pool as CountedPool | undefined)?.waitingCount;
  }

  async query(query: Parameters<PgPool["query"]>[0]): Promise<{ rows: unknown[] }> {
    const state = await this.#primary();
    state.calls += 1;
    try {
      return await state.pool.query(query);
    } catch (error) {
      if (state === this.#current && (isConnectionFailure(error) || isReadOnly(error)))
        this.#current = undefined;
      throw error;
    } finally {
      state.calls -= 1;
      if (state.calls === 0 && state !== this.#current) void closed(state.pool);
    }
  }

  async connect(): Promise<PgPoolClient> {
    const { pool } = await this.#primary();
    return await pool.connect!();
  }

  async end(): Promise<void> {
    this.#ended = true;
    const state = this.#current;
    this.#current = undefined;
    // If statements are under way, the last one closes the pool.
    if (state?.calls === 0) await state.pool.end?.();
  }

  async #primary(): Promise<OpenPool> {
    if (this.#ended) throw new Error("Cannot use a pool after calling end on the pool");
    if (this.#current !== undefined) return this.#current;
    this.#finding ??= this.#opened().finally(() => (this.#finding = undefined));
    return await this.#finding;
  }

  async #opened(): Promise<OpenPool> {
    const url = await this.#find();
    const state: OpenPool = { pool: this.#open(url), calls: 0 };
    // The pool replaces an idle connection that broke. Without a listener, the error would end the process.
    state.pool.on?.("error", () => undefined);
    if (!this.#ended) this.#current = state;
    return state;
  }
}

/** Connections that can't be closed are gone already. */
async function closed(pool: PgPool): Promise<void> {
  await Promise.resolve()
    .then(() => pool.end?.())
    .catch(() => undefined);
}
