import type { Redis } from "ioredis";

/** Backups of all keys with a prefix, which are put back in place, as by a server that begins with an older RDB. */
export function redisBackups(
  client: Redis,
  prefix: string,
): { mark(): Promise<unknown>; setBack(mark: unknown): Promise<void> } {
  const keys = async (): Promise<string[]> => await client.keys(`${prefix}*`);
  return {
    mark: async () =>
      await Promise.all(
        (await keys()).map(async (key) => [key, await client.pttl(key), await client.dumpBuffer(key)]),
      ),
    setBack: async (mark) => {
      const transaction = client.multi();
      for (const key of await keys()) transaction.del(key);
      for (const [key, ttlMs, value] of mark as [string, number, Buffer][])
        transaction.restore(key, Math.max(0, ttlMs), value);
      await transaction.exec();
    },
  };
}
