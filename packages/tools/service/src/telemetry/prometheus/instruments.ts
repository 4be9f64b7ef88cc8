import { InvalidOptionError } from "@stratigraph/core";
import {
  metricTable,
  prometheusLabel,
  prometheusName,
  type Labels,
  type Metric,
  type MetricKey,
} from "../metricTable.ts";
import { allMetrics, type Recorder } from "../recorder.ts";
import type { CalledClient, PrometheusRegistry } from "./client.ts";

/** A `prom-client` metric for each of our metrics, all in one registry. */
export class PrometheusInstruments implements Recorder {
  readonly #registry: PrometheusRegistry;
  readonly #record = new Map<MetricKey, (value: number, labels: Labels) => void>();

  /** @throws InvalidOptionError if the registry already has such a metric */
  constructor(client: CalledClient, registry: PrometheusRegistry) {
    this.#registry = registry;
    const [, taken] = allMetrics.find(([, metric]) => registry.getSingleMetric(prometheusName(metric))) ?? [];
    if (taken !== undefined)
      throw new InvalidOptionError(
        "prometheus",
        `a registry that has ${prometheusName(taken)} already`,
        "Call observe() only once in a process, call stop() on the earlier one first, or pass another registry.",
      );
    for (const [key, metric] of allMetrics) this.#record.set(key, createRecorder(client, registry, metric));
  }

  record(metric: MetricKey, value: number, labels: Labels): void {
    const { labels: names } = metricTable[metric] as Metric;
    const named = Object.fromEntries(names.map((name) => [prometheusLabel(name), labels[name] ?? ""]));
    this.#record.get(metric)!(value, named);
  }

  /** Takes the metrics out of the registry. */
  stop(): void {
    for (const [, metric] of allMetrics) this.#registry.removeSingleMetric(prometheusName(metric));
  }
}

function createRecorder(
  client: CalledClient,
  registry: PrometheusRegistry,
  metric: Metric,
): (value: number, labels: Labels) => void {
  const options = {
    name: prometheusName(metric),
    help: metric.help,
    labelNames: metric.labels.map(prometheusLabel),
    registers: [registry],
  };
  if (metric.kind === "counter") {
    const counter = new client.Counter(options);
    return (value, labels) => counter.inc(labels, value);
  }
  if (metric.kind === "gauge") {
    const gauge = new client.Gauge(options);
    return (value, labels) => gauge.set(labels, value);
  }
  const histogram = new client.Histogram({
    ...options,
    ...(metric.buckets === undefined ? {} : { buckets: [...metric.buckets] }),
  });
  return (value, labels) => histogram.observe(labels, value);
}
