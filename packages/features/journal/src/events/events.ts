import { InvalidOptionError, type TierSaver } from "@stratigraph/core";
import { checkOptions } from "@stratigraph/core/internal";
import { EventStore } from "./eventStore.ts";
import type { EventsOptions } from "./projection.ts";

/**
 * Event-sourced state: events are appended to a thread, and the state is their fold. Versions count up without gaps, even with several
 * writers. A thread's events are stored alongside its checkpoints and stay when these are pruned; a fork doesn't inherit them.
 *
 * @example
 * type Event = { type: "deposited" | "withdrawn"; amount: number };
 * const account = events(checkpointer, (balance: number, { type, amount }: Event) =>
 *   type === "deposited" ? balance + amount : balance - amount, { initial: 0 });
 *
 * await account.append("ada", { type: "deposited", amount: 50 }, { key: request.id });
 * const { state, version } = await account.project("ada");
 * if (state >= 20) await account.appendIf("ada", version, { type: "withdrawn", amount: 20 });
 * const inMay = await account.project("ada", { until: new Date("2026-06-01") });
 *
 * @param reducer returns the state after an event. It must depend on nothing else, and not change the state that it gets
 * @throws InvalidOptionError
 */
export function events<S, E>(
  checkpointer: TierSaver,
  reducer: (state: S, event: E) => S,
  options: EventsOptions<S>,
): EventStore<S, E> {
  if (typeof (Object(checkpointer) as Partial<TierSaver>).coder?.encode !== "function")
    throw new InvalidOptionError("checkpointer", checkpointer, "Pass a saver of Stratigraph.");
  if (typeof reducer !== "function")
    throw new InvalidOptionError(
      "reducer",
      reducer,
      "Pass a function: (state, event) => the state after it.",
    );
  checkOptions<EventsOptions<S>>("events", options, {
    initial: true,
    snapshotEvery: true,
    reducerVersion: true,
  });
  if (options === undefined)
    throw new InvalidOptionError("options", options, "Pass { initial }: the state before the first event.");
  const { snapshotEvery = 100, reducerVersion = "" } = options;
  if (typeof reducerVersion !== "string")
    throw new InvalidOptionError("reducerVersion", reducerVersion, "Pass text.");
  if (!Number.isSafeInteger(snapshotEvery) || snapshotEvery < 1)
    throw new InvalidOptionError("snapshotEvery", snapshotEvery, "Pass a whole number from 1.");
  return new EventStore(checkpointer, reducer, options);
}
