import pg from "pg";

/** One statement as it was sent. */
export interface Sent {
  readonly text: string;
  readonly name: string | undefined;
}

/** A real pool that notes every statement sent and every connection taken out. */
export interface CountedPool {
  readonly pool: pg.Pool;
  readonly sent: Sent[];
  readonly checkouts: () => number;
  reset(): void;
}

/** Counts statements in the driver's clients, whoever uses them, and connections by the pool's "acquire" event. */
export function countedPool(config: pg.PoolConfig): CountedPool {
  const sent: Sent[] = [];
  let checkouts = 0;
  class CountedClient extends pg.Client {
    override query(...args: unknown[]): never {
      const first = args[0] as string | { text?: string; name?: string };
      sent.push(
        typeof first === "string"
          ? { text: first, name: undefined }
          : { text: first.text ?? "", name: first.name },
      );
      return (pg.Client.prototype.query as (...all: unknown[]) => never).apply(this, args);
    }
  }
  const pool = new pg.Pool({ ...config, Client: CountedClient } as pg.PoolConfig);
  pool.on("acquire", () => (checkouts += 1));
  return {
    pool,
    sent,
    checkouts: () => checkouts,
    reset: () => {
      sent.length = 0;
      checkouts = 0;
    },
  };
}
