/** Attributes of a span or a measurement. */
export type Attributes = Record<string, string | number | boolean>;

/** The used part of the module `@opentelemetry/api`: pass the module itself. A structural type, so that the package need not be installed. */
export interface OpenTelemetryApi {
  readonly context: {
    active(): object;
    with(context: never, work: () => unknown): unknown;
  };
  readonly trace: {
    getTracer(name: string): { startSpan(name: string, options: never, context: never): object };
    setSpan(context: never, span: never): object;
  };
  readonly metrics: { getMeter(name: string): object };
}

/**
 * The same module as this package calls it: with the real types of the arguments, which `OpenTelemetryApi` leaves open (`never`) so that
 * every version of the module fits.
 */
export interface CalledApi {
  readonly context: { active(): object; with<T>(context: object, work: () => T): T };
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options: { kind: number; attributes: Attributes }, context: object): ApiSpan;
    };
    setSpan(context: object, span: ApiSpan): object;
  };
  readonly metrics: { getMeter(name: string): ApiMeter };
}

/** A span of `@opentelemetry/api`. */
export interface ApiSpan {
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(error: Error): unknown;
  end(): void;
}

/** A meter of `@opentelemetry/api`. */
export interface ApiMeter {
  createCounter(name: string, options: InstrumentOptions): { add(value: number, labels: Attributes): void };
  createHistogram(
    name: string,
    options: InstrumentOptions & { advice?: { explicitBucketBoundaries: number[] } },
  ): { record(value: number, labels: Attributes): void };
  createObservableGauge(
    name: string,
    options: InstrumentOptions,
  ): { addCallback(observe: GaugeCallback): void; removeCallback(observe: GaugeCallback): void };
}

/** Reports a gauge's values when they are asked for. */
export type GaugeCallback = (to: { observe(value: number, labels: Attributes): void }) => void;

interface InstrumentOptions {
  description: string;
  unit: string;
}
