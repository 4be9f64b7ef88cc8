import { metricTable, type Labels, type Metric, type MetricKey } from "../metricTable.ts";
import { allMetrics, type Recorder } from "../recorder.ts";
import type { ApiMeter, GaugeCallback } from "./api.ts";

/** Last values of a gauge, by its labels as text. */
type GaugeValues = Map<string, { readonly labels: Labels; readonly value: number }>;

/** Instruments of OpenTelemetry for every metric. */
export class OpenTelemetryInstruments implements Recorder {
  readonly #record = new Map<MetricKey, (value: number, labels: Labels) => void>();
  readonly #stops: (() => void)[] = [];

  constructor(meter: ApiMeter) {
    for (const [key, metric] of allMetrics) this.#record.set(key, this.#instrument(meter, metric));
  }

  record(metric: MetricKey, value: number, labels: Labels): void {
    this.#record.get(metric)!(value, known(metricTable[metric], labels));
  }

  /** Stops reporting the values of gauges. */
  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #instrument(meter: ApiMeter, metric: Metric): (value: number, labels: Labels) => void {
    const { name, kind, unit, help: description, buckets } = metric;
    if (kind === "counter") {
      const counter = meter.createCounter(name, { description, unit });
      return (value, labels) => counter.add(value, labels);
    }
    if (kind === "histogram") {
      const advice = buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } };
      const histogram = meter.createHistogram(name, { description, unit, ...advice });
      return (value, labels) => histogram.record(value, labels);
    }
    const values: GaugeValues = new Map();
    const gauge = meter.createObservableGauge(name, { description, unit });
    const tell: GaugeCallback = (to) => {
      for (const { value, labels } of values.values()) to.observe(value, labels);
    };
    gauge.addCallback(tell);
    this.#stops.push(() => gauge.removeCallback(tell));
    return (value, labels) => values.set(JSON.stringify(labels), { labels, value });
  }
}

/** The conventions leave an attribute out where there is nothing to say, such as the type of an error. */
function known({ labels: names }: Metric, labels: Labels): Labels {
  return Object.fromEntries(names.flatMap((name) => (labels[name] ? [[name, labels[name]]] : [])));
}
