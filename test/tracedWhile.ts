import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { TraceEvent } from "@stratigraph/core";

/** What was traced while some work was done. */
export async function tracedWhile(
  work: (events: readonly TraceEvent[]) => Promise<unknown>,
): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  const listen = (event: unknown): void => void events.push(event as TraceEvent);
  subscribe("stratigraph", listen);
  try {
    await work(events);
  } finally {
    unsubscribe("stratigraph", listen);
  }
  return events;
}
