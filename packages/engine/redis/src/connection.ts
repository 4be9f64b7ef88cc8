import { answerWithin } from "@stratigraph/core/internal";
import { closedError } from "@stratigraph/core/tier";
import type { RedisClient } from "./client.ts";
import { explainRedisError, noAnswer } from "./explainRedisError.ts";
import type { Bytes } from "./checkpointKeys.ts";
import { handleOver, OwnHandle, type ClientHandle } from "./clientHandle.ts";
import type { Server } from "./options.ts";
import { scripts, type ScriptName } from "./scripts.ts";
import { subscribe } from "./subscriber.ts";

/** A command gets an additional second for so many bytes, which even a slow network transfers in that time. */
const bytesPerSecond = 8 << 20;
/** How many new clients are tried within one command's time limit while the server is silent. */
const handlesAtOnce = 8;

/** Sends commands and scripts with a time limit, and turns their failures into errors that say what to do. */
export class Connection {
  readonly #timeoutMs: number;
  readonly #open: () => ClientHandle;
  #handle: ClientHandle | undefined;
  #openedAtMs = 0;
  /** Whether a call timed out and no call has been answered since. */
  #isSilent = false;
  #closed = false;

  constructor(server: Server, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    if ("client" in server) {
      const handle = handleOver(server.client);
      this.#open = () => handle;
    } else this.#open = () => new OwnHandle(server, timeoutMs);
  }

  /** @throws StratigraphError */
  async run(name: ScriptName, keys: readonly string[], args: readonly (Bytes | number)[]): Promise<unknown> {
    const { sha, text } = scripts[name];
    return await this.#bounded(sizeOf(args), async (client) => {
      try {
        return await client.callBuffer("EVALSHA", [sha, keys.length, ...keys, ...args]);
      } catch (error) {
        // After a restart or a failover the server doesn't have the script. EVAL loads it.
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        return await client.callBuffer("EVAL", [text, keys.length, ...keys, ...args]);
      }
    });
  }

  /** @throws StratigraphError */
  async command(name: string, ...args: readonly (Bytes | number)[]): Promise<unknown> {
    return await this.#bounded(sizeOf(args), async (client) => await client.callBuffer(name, [...args]));
  }

  /**
   * Reads fields of a hash.
   * @param bytes total size of the values, which extends the time limit
   * @throws StratigraphError
   */
  async fields(key: string, names: readonly string[], bytes: number): Promise<(Buffer | null)[]> {
    const found = await this.#bounded(bytes, (client) => client.callBuffer("HMGET", [key, ...names]));
    return found as (Buffer | null)[];
  }

  /** As {@link subscribe}, at the server of the client in use. */
  async subscribe(
    channel: string,
    hear: (text: string) => void,
    over: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    await subscribe(await this.#current().client, channel, this.#timeoutMs, hear, over, signal);
  }

  /** Refuses commands from now on, and closes the client if it was opened here. May be called again. */
  end(): void {
    this.#closed = true;
    this.#handle?.close();
    this.#handle = undefined;
  }

  async #bounded<T>(bytes: number, work: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError("redis");
    const limitMs = Math.round(this.#timeoutMs + (bytes / bytesPerSecond) * 1000);
    const handle = this.#current();
    handle.calls += 1;
    const late = (): Error => {
      this.#isSilent = true;
      if (this.#handle === handle) this.#use(undefined);
      return noAnswer(limitMs, bytes, handle.lastError);
    };
    try {
      const answer = await answerWithin(limitMs, async () => await work(await this.#onceOpen(handle)), late);
      this.#answered(handle);
      return answer;
    } catch (error) {
      if (this.#closed && isGone(error)) throw closedError("redis");
      throw explainRedisError(isGone(error) ? (handle.lastError ?? error) : error);
    } finally {
      handle.calls -= 1;
      if (handle !== this.#handle && handle.calls === 0) handle.close();
    }
  }

  async #onceOpen(handle: ClientHandle): Promise<RedisClient> {
    try {
      return await handle.client;
    } catch (error) {
      if (this.#handle === handle) this.#use(undefined);
      throw error;
    }
  }

  /**
   * The handle for the next call. A connection that was cut without notice shows only as a timeout, and a new connection may work.
   * So a handle on which a call timed out is abandoned, and new ones are tried, several at a time, until one answers.
   */
  #current(): ClientHandle {
    const isTried =
      this.#handle !== undefined && performance.now() - this.#openedAtMs < this.#timeoutMs / handlesAtOnce;
    if (this.#handle === undefined || (this.#isSilent && !isTried)) {
      this.#openedAtMs = performance.now();
      this.#use(this.#open());
    }
    return this.#handle!;
  }

  /** After a silence, the first handle that answers is used for all calls. */
  #answered(handle: ClientHandle): void {
    if (!this.#isSilent || this.#closed) return;
    this.#isSilent = false;
    this.#use(handle);
  }

  /** Replaces the handle. Calls in progress on the previous one may still be answered, so it is closed when the last one ends. */
  #use(handle: ClientHandle | undefined): void {
    const before = this.#handle;
    this.#handle = handle;
    if (before !== handle && before?.calls === 0) before.close();
  }
}

/** Whether an error of ioredis says only that it gave up. It reported the reason earlier, as an event. */
function isGone(error: unknown): boolean {
  return (
    error instanceof Error &&
    /MaxRetriesPerRequest|Connection is closed/.test(`${error.name} ${error.message}`)
  );
}

function sizeOf(args: readonly (Bytes | number)[]): number {
  let bytes = 0;
  for (const arg of args) if (typeof arg !== "number") bytes += arg.length;
  return bytes;
}
