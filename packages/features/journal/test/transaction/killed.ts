import type { Place } from "../support/places.ts";

/** Where a process is killed that makes a transaction of two bookings. */
export const killPoints = [
  "after the fork",
  "in the work",
  "before the head moves",
  "after the head moved",
  "in the rollback, before the first compensation",
  "in the rollback, in the second compensation",
  "in the rollback, after the second compensation",
  "in the rollback, before the thread is dropped",
] as const;

export type KillPoint = (typeof killPoints)[number];

/** What the child is told. */
export interface KilledOrders {
  readonly place: Place;
  readonly thread: string;
  /** The file that stands for the world. */
  readonly world: string;
  readonly die: KillPoint;
}
