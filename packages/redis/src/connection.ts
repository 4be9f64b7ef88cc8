import { answerWithin, closedError } from "@stratigraph/core";
import type { RedisClient } from "./client.ts";
import { explained, noAnswer } from "./explained.ts";
import type { Bytes } from "./checkpointKeys.ts";
import { handleOver, OwnHandle, type ClientHandle } from "./clientHandle.ts";
import type { Server } from "./options.ts";
import { scripts, type ScriptName } from "./scripts.ts";

/** A command of many bytes gets more time: a slow line still moves so many of them in a second. */
const bytesPerSecond = 8 << 20;
/** How many clients are tried within the time limit of a command while the server is silent. */
const handlesAtOnce = 8;

/** Sends commands and scripts, each for a bounded time, and turns their failures into errors that say what to do. */
export class Connection {
  readonly #timeoutMs: number;
  readonly #open: () => ClientHandle;
  #handle: ClientHandle | undefined;
  #openedAtMs = 0;
  /** Whether a call got no answer in time, and none has been answered since. */
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
        // A server that was restarted, or a node that took over, doesn't have the script yet. EVAL loads it.
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        return await client.callBuffer("EVAL", [text, keys.length, ...keys, ...args]);
      }
    });
  }

  /** @throws StratigraphError */
  async command(name: string, ...args: readonly (Bytes | number)[]): Promise<unknown> {
    return await this.#bounded(sizeOf(args), async (client) => await client.callBuffer(name, [...args]));
  }

  /** Fields of a hash whose values are known to be so many bytes together. @throws StratigraphError */
  async fields(key: string, names: readonly string[], bytes: number): Promise<(Buffer | null)[]> {
    const found = await this.#bounded(bytes, (client) => client.callBuffer("HMGET", [key, ...names]));
    return found as (Buffer | null)[];
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
      throw explained(isGone(error) ? (handle.lastError ?? error) : error);
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
   * The handle for the next call. A connection that was cut silently shows only by its silence, and a new one might work. So a
   * handle on which a call timed out is abandoned, and others are tried, several at a time, until one answers.
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

  /** Uses the first handle that answers for all calls. */
  #answered(handle: ClientHandle): void {
    if (!this.#isSilent || this.#closed) return;
    this.#isSilent = false;
    this.#use(handle);
  }

  /** Calls under way on the previous handle may still be answered, so it is closed once it has none. */
  #use(handle: ClientHandle | undefined): void {
    const before = this.#handle;
    this.#handle = handle;
    if (before !== handle && before?.calls === 0) before.close();
  }
}

/** Whether ioredis only says that it gave up a command; the reason came as an event. */
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
