import type { Redis } from "ioredis";

// Debian's Redis has no RedisJSON and no RediSearch. The official RedisSaver runs on a client of a real Redis here, whose json.*
// commands are mapped on plain keys with the JSON as text; searches fail, as where the index is missing. What this can't show is how
// RedisJSON itself treats a document.

/** The part of a client of node-redis that the official RedisSaver uses. */
export function plainRedisJson(redis: Redis) {
  const noIndex = async (): Promise<never> => {
    throw new Error("no such index");
  };
  return {
    json: {
      get: async (key: string) => {
        const text = await redis.get(key);
        return text === null ? null : (JSON.parse(text) as unknown);
      },
      set: async (key: string, _path: string, value: unknown, options: { NX?: boolean } = {}) =>
        options.NX === true
          ? await redis.set(key, JSON.stringify(value), "NX")
          : await redis.set(key, JSON.stringify(value)),
    },
    ft: { create: async () => "OK", search: noIndex },
    keys: (pattern: string) => redis.keys(pattern),
    exists: (key: string) => redis.exists(key),
    del: (keys: string[]) => redis.del(...keys),
    expire: (key: string, seconds: number) => redis.expire(key, seconds),
    zAdd: (key: string, members: { score: number; value: string }[]) =>
      redis.zadd(key, ...members.flatMap(({ score, value }) => [score, value])),
    quit: () => redis.quit(),
  };
}

/** Commands as `redisSource` sends them. */
export function plainCommand(redis: Redis) {
  return async (...[name, ...args]: [string, ...string[]]): Promise<unknown> =>
    await redis.call(
      ...((name === "JSON.GET" ? ["GET", args[0]!] : [name, ...args]) as [string, ...string[]]),
    );
}
