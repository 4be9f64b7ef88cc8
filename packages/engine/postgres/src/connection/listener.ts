import { within } from "./timeouts.ts";

/** How long a connection may take to end, in milliseconds. One that went silent never would. */
const closingMs = 1000;

/** The used part of a `pg.Client`. */
interface PgListenClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: "error" | "end", listener: () => void): unknown;
  end(): Promise<void>;
  readonly connection?: { readonly stream?: { destroy?(): unknown } };
}

/**
 * Listens on a connection of its own, opened as a `pg.Pool` opens its own: one of the pool would be missing there, and the only one would
 * be missed for ever.
 * @throws if the pool isn't one that can tell how; what connecting throws
 */
export async function listen(
  pool: unknown,
  statement: string,
  hear: (payload: string) => void,
  over: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { Client, options } = pool as { Client?: new (options: object) => PgListenClient; options?: object };
  if (typeof Client !== "function" || options === undefined) throw new Error("This pool has no pg.Client.");
  const client = new Client(options);
  // Without a listener, an error would end the process.
  client.on("error", over);
  client.on("end", over);
  client.on("notification", ({ payload = "" }) => hear(payload));
  signal.addEventListener("abort", () => void ended(client), { once: true });
  await client.connect();
  await client.query(statement);
}

async function ended(client: PgListenClient): Promise<void> {
  await within(client.end(), closingMs).catch(() => client.connection?.stream?.destroy?.());
}
