import { endsWithin } from "@stratigraph/core/internal";
import pg from "pg";
import { sql } from "../embedded.ts";

/** What a server says of itself. */
export interface ServerState {
  readonly writable: boolean;
  /** Grows at each promotion; 0 if the server doesn't say. */
  readonly timeline: number;
}

/**
 * How long to wait for the other servers once one that takes writes was found, in milliseconds. The first may be an old primary nearby,
 * and the new primary may be in another region, where connecting takes seven or eight round trips.
 */
const graceMs = 1000;

/** No server takes writes now, or only one that was the primary before. Its code is that of a server that is read-only. */
export class NoPrimaryError extends Error {
  readonly code = "25006";

  constructor(why: string, cause?: unknown) {
    super(why, { cause });
    this.name = "NoPrimaryError";
  }
}

/**
 * Finds which of several servers takes writes: the one on the latest timeline, if there are several. A server on an earlier timeline than
 * this process has seen was the primary before a failover; it is never taken again, even if it came back without knowing of the failover.
 */
export class PrimaryFinder {
  readonly #urls: readonly string[];
  readonly #ask: (url: string) => Promise<ServerState>;
  #latest = 0;

  /** @param ask has to end within a limited time */
  constructor(urls: readonly string[], ask: (url: string) => Promise<ServerState>) {
    this.#urls = urls;
    this.#ask = ask;
  }

  /** The connection string of the primary. @throws NoPrimaryError; what asking throws, if no server answers */
  async find(): Promise<string> {
    const found: { url: string; timeline: number }[] = [];
    const answers = this.#urls.map(async (url) => {
      const { writable, timeline } = await this.#ask(url);
      if (!writable) throw new NoPrimaryError("The server is a standby.");
      found.push({ url, timeline });
    });
    const all = Promise.allSettled(answers);
    try {
      await Promise.any(answers);
    } catch (error) {
      throw reasonOf(error as AggregateError);
    }
    await endsWithin(graceMs, () => all);
    const latest = found.reduce((best, next) => (next.timeline > best.timeline ? next : best));
    if (latest.timeline < this.#latest)
      throw new NoPrimaryError(
        `The server that takes writes is on timeline ${latest.timeline}, and this process has seen ${this.#latest}: it was the primary before.`,
      );
    this.#latest = latest.timeline;
    return latest.url;
  }
}

/** Why no server was found. A server that can't be reached may be the primary, so its error comes before those of standbys. */
function reasonOf({ errors }: AggregateError): unknown {
  const causes = errors as unknown[];
  const other = causes.find((error) => !(error instanceof NoPrimaryError));
  return other ?? new NoPrimaryError(`All ${causes.length} servers are standbys.`, causes[0]);
}

/** Asks a server whether it takes writes, on a connection of its own. @param timeoutMs for connecting, and for each question */
export async function askServer(url: string, timeoutMs: number): Promise<ServerState> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  // Without a listener, a connection that breaks would end the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ writable: boolean }>(sql.writable);
    if (rows[0]?.writable !== true) return { writable: false, timeline: 0 };
    // Managed servers that aren't quite PostgreSQL have no timelines, and do without this safeguard.
    const timeline = await client.query<{ timeline: number }>(sql.timeline).then(
      (answer) => answer.rows[0]?.timeline ?? 0,
      () => 0,
    );
    return { writable: true, timeline };
  } finally {
    await client.end().catch(() => undefined);
  }
}
