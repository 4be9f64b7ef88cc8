import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

/** Where processes that begin together meet. */
export interface StartLine {
  redisUrl: string;
  /** Redis key at which they count themselves. */
  startLine: string;
  processes: number;
}

/** Waits until every process has arrived. */
export async function waitForAll({ redisUrl, startLine, processes }: StartLine): Promise<void> {
  if (processes === 1) return;
  const client = new Redis(redisUrl);
  await client.incr(startLine);
  while (Number(await client.get(startLine)) < processes) await sleep(5);
  client.disconnect();
}
