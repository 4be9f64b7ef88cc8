import { InvalidOptionError, type Duration } from "@stratigraph/core";
import { checkOptions, waitMsOf, type OptionNames } from "@stratigraph/core/internal";

/**
 * How long each step of a shutdown may take. With the defaults the shutdown ends within 28 seconds; Kubernetes allows 30
 * (`terminationGracePeriodSeconds`). Maintenance and listeners are stopped while runs end.
 */
export interface DrainLimits {
  /** How long the process still takes runs after `/readyz` says that it isn't ready, so that the load balancer notices. Default "5s". */
  readonly balancer?: Duration | undefined;
  /** How long runs may take to end by themselves. Default "15s". */
  readonly runs?: Duration | undefined;
  /** How long runs may take to end after their signals fired. Default "2s". */
  readonly abort?: Duration | undefined;
  /** How long maintenance may take to stop, after the runs. Default "1s". */
  readonly maintenance?: Duration | undefined;
  /** How long the hot tiers may take to get their copies. What isn't copied is read from the warm tier later. Default "2s". */
  readonly copies?: Duration | undefined;
  /** How long the checkpointer may take to end. Default "2s". */
  readonly saver?: Duration | undefined;
  /** How long each function in `close` may take; they run at the same time. Default "1s". */
  readonly close?: Duration | undefined;
}

/** Options of `createService`. */
export interface ServiceOptions {
  /** How long each step of the shutdown may take. */
  readonly limits?: DrainLimits | undefined;
  /** Stops taking connections, for example `() => server.close()`. Called when the service takes no more runs. */
  readonly stopListening?: (() => unknown) | undefined;
  /** The object that `startMaintenance` returned. Default: the checkpointer stops its maintenance when it ends. */
  readonly maintenance?: { stop(): Promise<void> } | undefined;
  /** Functions that are called after the checkpointer has ended, all at the same time, by name: `{ telemetry: () => telemetry.stop() }`. */
  readonly close?: Readonly<Record<string, () => unknown>> | undefined;
}

/** Every limit in milliseconds. */
export type ResolvedLimits = { readonly [Name in keyof Required<DrainLimits>]: number };

const defaults: { readonly [Name in keyof Required<DrainLimits>]: Duration } = {
  balancer: "5s",
  runs: "15s",
  abort: "2s",
  maintenance: "1s",
  copies: "2s",
  saver: "2s",
  close: "1s",
};
const limitNames: OptionNames<DrainLimits> = {
  balancer: true,
  runs: true,
  abort: true,
  maintenance: true,
  copies: true,
  saver: true,
  close: true,
};
const serviceNames: OptionNames<ServiceOptions> = {
  limits: true,
  stopListening: true,
  maintenance: true,
  close: true,
};

/** @throws InvalidOptionError */
export function resolveService(
  options: ServiceOptions,
): ServiceOptions & { readonly limitsMs: ResolvedLimits } {
  checkOptions("createService", options, serviceNames, {
    timeout: "Write limits: { runs }.",
    server: "Write stopListening.",
    signals: "Pass it to drainOnSignals.",
    onReport: "Pass it to drainOnSignals.",
  });
  const { limits = {}, stopListening, maintenance, close = {} } = options;
  checkOptions("limits", limits, limitNames, {}, "limits");
  if (stopListening !== undefined && typeof stopListening !== "function")
    throw new InvalidOptionError(
      "stopListening",
      typeof stopListening,
      "Pass a function, such as () => server.close().",
    );
  if (maintenance !== undefined && typeof maintenance?.stop !== "function")
    throw new InvalidOptionError("maintenance", typeof maintenance, "Pass what startMaintenance() returned.");
  for (const [name, closer] of Object.entries(close))
    if (typeof closer !== "function")
      throw new InvalidOptionError(`close.${name}`, typeof closer, "Pass a function that closes it.");
  const limitsMs = Object.fromEntries(
    Object.entries(defaults).map(([name, fallback]) => [
      name,
      waitMsOf(`limits.${name}`, limits[name as keyof DrainLimits] ?? fallback),
    ]),
  ) as ResolvedLimits;
  return { ...options, limitsMs };
}
