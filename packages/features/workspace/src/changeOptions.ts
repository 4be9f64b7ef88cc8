import type { Lock } from "./lock.ts";

/** Options of changes. */
export interface ChangeOptions {
  /** Why, for the log. */
  readonly reason?: string | undefined;
  /** The write is refused with LOCK_LOST once this lock isn't held any more. */
  readonly lock?: Lock | undefined;
}
