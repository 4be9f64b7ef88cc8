/**
 * What this package uses of a Redis client. ioredis 5 and 6 fit, `Redis` and `Cluster` alike; so does anything that sends
 * a command and answers with Buffers, numbers, arrays and null. If it has `duplicate()` as they have it, it opens the connection by which
 * readers of workspaces are woken.
 */
export interface RedisClient {
  /** Sends a command. Strings in replies come back as Buffers. */
  callBuffer(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  /** What the client was opened with. Read for a diagnosis only. */
  readonly options?: object | undefined;
}

/** A client that this package opened and therefore closes. */
export interface OwnClient extends RedisClient {
  disconnect(): void;
}
