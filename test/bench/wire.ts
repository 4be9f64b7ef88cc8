import type { EventEmitter } from "node:events";
import pg from "pg";

/** What went over every `pg` connection of this process since the last `resetWire`. */
export interface WireCounts {
  /** Statements that the server completed. */
  statements: number;
  /** Times that the server reported being ready again: one per round trip, whatever was sent in it. */
  roundTrips: number;
  /** Connections taken from a pool. */
  checkouts: number;
}

/** Counts, from now on, what every `pg` client and pool of this process does. Call once per process. */
export function countWire(): WireCounts {
  const counts: WireCounts = { statements: 0, roundTrips: 0, checkouts: 0 };
  const client = pg.Client.prototype as unknown as Connectable & { connection: EventEmitter };
  const connect = client.connect;
  client.connect = function (this: typeof client, ...args: unknown[]) {
    // The server also reports ready at the end of the start-up, which is no round trip of a saver call.
    let started = false;
    this.connection.on("readyForQuery", () => {
      if (started) counts.roundTrips++;
      started = true;
    });
    this.connection.on("commandComplete", () => counts.statements++);
    return connect.apply(this, args);
  };
  // `pool.query` takes its connection with `connect` too.
  const pool = Object.getPrototypeOf(pg.Pool.prototype) as Connectable;
  const checkout = pool.connect;
  pool.connect = function (this: Connectable, ...args: unknown[]) {
    counts.checkouts++;
    return checkout.apply(this, args);
  };
  return counts;
}

/** Sets every count to zero. */
export function resetWire(counts: WireCounts): void {
  counts.statements = 0;
  counts.roundTrips = 0;
  counts.checkouts = 0;
}

interface Connectable {
  connect(...args: unknown[]): unknown;
}
