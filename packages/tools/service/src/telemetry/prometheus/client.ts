/** The used part of the module `prom-client`: pass the module itself. A structural type, so that the package need not be installed. */
export interface PrometheusClient {
  readonly register: PrometheusRegistry;
  readonly Counter: new (options: never) => object;
  readonly Gauge: new (options: never) => object;
  readonly Histogram: new (options: never) => object;
}

/** A registry of `prom-client`. */
export interface PrometheusRegistry {
  getSingleMetric(name: string): object | undefined;
  removeSingleMetric(name: string): void;
}

/**
 * The same module as this package calls it: with the real types of its constructors' arguments, which `PrometheusClient` leaves open
 * (`never`) so that every version of the module fits.
 */
export interface CalledClient {
  readonly Counter: new (options: MetricOptions) => { inc(labels: Labels, value: number): void };
  readonly Gauge: new (options: MetricOptions) => { set(labels: Labels, value: number): void };
  readonly Histogram: new (options: MetricOptions & { buckets?: number[] }) => {
    observe(labels: Labels, value: number): void;
  };
}

type Labels = Record<string, string>;

interface MetricOptions {
  name: string;
  help: string;
  labelNames: string[];
  registers: PrometheusRegistry[];
}
