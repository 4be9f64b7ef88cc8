import type { Holding } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import { z } from "zod";
import { bytesText } from "../render/units.ts";

/** What the storages hold of a thread, as output. */
export const holdingsShape = {
  checkpoints: z.number().describe("The number of checkpoints in the storage that has the most."),
  bytes: z.number().describe("Stored bytes, in all storages together."),
  where: z.array(
    z.object({
      tier: z.string(),
      role: z.enum(["hot", "warm", "cold"]),
      checkpoints: z.number(),
      bytes: z.number(),
      error: z.string().optional().describe("Why the storage could not be asked."),
    }),
  ),
};

interface Holdings {
  readonly checkpoints: number;
  readonly bytes: number;
  readonly where: {
    readonly tier: string;
    readonly role: Holding["role"];
    readonly checkpoints: number;
    readonly bytes: number;
    readonly error?: string;
  }[];
}

/** What the storages hold of a thread. */
export function holdingsOf(found: readonly Holding[]): Holdings {
  return {
    checkpoints: Math.max(0, ...found.map(({ checkpoints }) => checkpoints)),
    bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
    where: found
      .filter(({ bytes, error }) => bytes > 0 || error !== undefined)
      .map(({ tier, role, checkpoints, bytes, error }) => ({
        tier,
        role,
        checkpoints,
        bytes,
        ...(error === undefined ? {} : { error: messageOf(error) }),
      })),
  };
}

/** "3 threads, 40 checkpoints, 1.2 MB". */
export function totalText(total: { threads: number; checkpoints: number; bytes: number }): string {
  return `${counted(total.threads, "thread")}, ${counted(total.checkpoints, "checkpoint")}, ${bytesText(total.bytes)}`;
}

/** "1 thread", "3 threads". */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
