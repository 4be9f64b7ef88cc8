import type { Cluster, Redis } from "ioredis";
import { createHash } from "node:crypto";
import type { Address, AppendRequest, Blob } from "@stratigraph/core/tier";
import type { RedisClient } from "../src/index.ts";
import { scripts, type ScriptName } from "../src/scripts.ts";

/** A checkpoint of the root namespace. */
export function at(threadId: string, checkpointId: string): Address {
  return { threadId, namespace: "", checkpointId };
}

/** A whole blob of `size` bytes. */
export function blob(name: string, size = 100): Blob {
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 40);
  return { hash, bytes: Buffer.alloc(size, name) };
}

/** The append of one checkpoint whose parent is the head. */
export function put(
  threadId: string,
  checkpointId: string,
  parentId?: string,
  blobs: readonly Blob[] = [],
): AppendRequest {
  const record = {
    ...at(threadId, checkpointId),
    parentId,
    terms: [],
    blobs: blobs.map(({ hash }) => hash),
    body: Buffer.from(`body of ${checkpointId}`),
  };
  const expected = parentId === undefined ? [] : [parentId];
  return {
    threadId,
    records: [record],
    blobs,
    heads: [{ namespace: "", to: checkpointId, expected }],
    onConflict: "refuse",
  };
}

/** A client, told of each command before and after it. A script is a command with the script's name. */
export function watched(
  client: RedisClient,
  before: (command: string, args: readonly unknown[]) => void | Promise<void>,
  after: (reply: unknown, command: string) => void | Promise<void> = () => undefined,
): RedisClient {
  const names = new Map(Object.entries(scripts).map(([name, { sha }]) => [sha, name as ScriptName]));
  return {
    callBuffer: async (command, args) => {
      const name = command === "EVALSHA" ? names.get(String(args[0]))! : command;
      await before(name, args);
      const reply = await client.callBuffer(command, args);
      await after(reply, name);
      return reply;
    },
  };
}

/** Lets both keys of a thread expire. A millisecond passes, without which what is written next could have the same revision. */
export async function expireKeys(client: Redis | Cluster, keys: string[]): Promise<void> {
  for (const key of keys) await client.pexpire(key, 1);
  await expect.poll(() => client.exists(keys), { timeout: 20_000 }).toBe(0);
}
