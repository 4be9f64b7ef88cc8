import type { LostRace, SaverOptions } from "./options.ts";
import { trace } from "../contract/trace.ts";

/** Traces a put that lost a race, and calls the application's hook without waiting for it. Neither may change what the put does. */
export function tellOfLostRace(onConflict: SaverOptions["onConflict"], lost: LostRace): void {
  trace({ type: "conflict", ...lost });
  if (onConflict === undefined) return;
  const failed = (error: unknown): void =>
    trace({ type: "hook", hook: "onConflict", threadId: lost.threadId, error });
  try {
    Promise.resolve(onConflict(lost)).catch(failed);
  } catch (error) {
    failed(error);
  }
}
