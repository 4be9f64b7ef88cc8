import { events, type EventStore } from "@stratigraph/journal";
import type { TierSaver } from "@stratigraph/core";
import type { Place } from "../support/places.ts";

/** What the child is told. */
export interface AppendOrders {
  readonly place: Place;
  readonly thread: string;
  readonly name: string;
  /** How many it appends of its own, and how many that others append as well. */
  readonly own: number;
  readonly shared: number;
}

export interface Deposit {
  readonly by: string;
  readonly amount: number;
}

export interface Account {
  readonly balance: number;
  readonly deposits: number;
}

export function account(saver: TierSaver, folds = () => undefined): EventStore<Account, Deposit> {
  const reducer = ({ balance, deposits }: Account, { amount }: Deposit): Account => {
    folds();
    return { balance: balance + amount, deposits: deposits + 1 };
  };
  return events(saver, reducer, { initial: { balance: 0, deposits: 0 }, snapshotEvery: 10 });
}
