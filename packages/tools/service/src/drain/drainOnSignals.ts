import { constants } from "node:os";
import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions, endsWithin, type OptionNames } from "@stratigraph/core/internal";
import type { DrainReport, Service } from "./service.ts";

/** Options of `drainOnSignals`. */
export interface DrainOnSignalsOptions {
  /** Default: SIGTERM and SIGINT. */
  readonly signals?: readonly NodeJS.Signals[] | undefined;
  /** Is given the report before the process ends, for example to log it. It may take a second; what it throws is ignored. */
  readonly onReport?: ((report: DrainReport) => unknown) | undefined;
}

const names: OptionNames<DrainOnSignalsOptions> = { signals: true, onReport: true };
const ofService = Object.fromEntries(
  ["limits", "stopListening", "maintenance", "close"].map((name) => [name, "Pass it to createService."]),
);
/** How long `onReport` may take, in milliseconds. */
const reportMs = 1000;

/**
 * Shuts the process down at the first signal, and ends it at once at the second. It ends with code 0 if all went well, otherwise with 1;
 * at the second signal with 128 and the signal's number, as a shell shows it.
 * @returns ends the listening
 * @throws InvalidOptionError
 */
export function drainOnSignals(service: Service, options: DrainOnSignalsOptions = {}): () => void {
  checkOptions("drainOnSignals", options, names, ofService);
  const { signals = ["SIGTERM", "SIGINT"], onReport } = options;
  for (const signal of signals)
    if (!Object.hasOwn(constants.signals, signal))
      throw new InvalidOptionError("signals", String(signal), "Use names such as SIGTERM.");
  let count = 0;
  const listener = (signal: NodeJS.Signals): void => {
    count += 1;
    if (count > 1) process.exit(128 + constants.signals[signal]);
    void shutDown(service, onReport);
  };
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}

async function shutDown(service: Service, onReport: DrainOnSignalsOptions["onReport"]): Promise<void> {
  const report = await service.drain();
  await endsWithin(reportMs, () => onReport?.(report)).catch(() => undefined);
  process.exit(report.ok ? 0 : 1);
}
