import { metricTable, type Labels, type Metric, type MetricKey } from "./metricTable.ts";

/** Where measurements go. */
export interface Recorder {
  /** A value of a histogram, what a counter grows by, or what a gauge is now. */
  record(metric: MetricKey, value: number, labels: Labels): void;
}

/** How many different values a label has at most. The application chooses the names of tools and nodes; they may be anything. */
const mostValues = 100;
/** The label of all values beyond. */
const otherValue = "(other)";

/** Hands measurements on with a limited number of values of each label, so that no bug of an application makes endless series. */
export class LimitedLabels implements Recorder {
  readonly #to: readonly Recorder[];
  readonly #values = new Map<string, Set<string>>();

  constructor(to: readonly Recorder[]) {
    this.#to = to;
  }

  record(metric: MetricKey, value: number, labels: Labels): void {
    const limited = Object.fromEntries(
      Object.entries(labels).map(([label, text]) => [label, this.#limited(`${metric} ${label}`, text)]),
    );
    for (const recorder of this.#to) recorder.record(metric, value, limited);
  }

  #limited(label: string, text: string): string {
    const values = this.#values.get(label) ?? new Set();
    this.#values.set(label, values);
    if (values.has(text)) return text;
    if (values.size >= mostValues) return otherValue;
    values.add(text);
    return text;
  }
}

/** Every metric with its key. */
export const allMetrics = Object.entries(metricTable) as readonly (readonly [MetricKey, Metric])[];
