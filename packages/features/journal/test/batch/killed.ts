import type { Effects } from "../../src/index.ts";
import type { Place } from "../support/places.ts";

/** What the child is told: a batch of 40 items in groups of 8, each of which it writes to a file, and when to die. */
export interface BatchOrders {
  readonly place: Place;
  readonly thread: string;
  readonly effects: Effects;
  readonly file: string;
  /** It kills itself in the work of the item that is the nth of this process; 0: never. */
  readonly dieAt: number;
}

export interface BatchDone {
  readonly done: number;
  readonly before: number;
  readonly ambiguous: readonly string[];
}

export const every = 8;
export const total = 40;
