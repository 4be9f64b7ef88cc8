import {
  metricTable,
  prometheusLabel,
  prometheusName,
  type MetricKey,
} from "../../../src/telemetry/metricTable.ts";

/** Metrics of some kinds. */
type KeyOf<Kind> = {
  [K in MetricKey]: (typeof metricTable)[K]["kind"] extends Kind ? K : never;
}[MetricKey];
type Value = KeyOf<"counter" | "gauge">;
type Histogram = KeyOf<"histogram">;

/** Labels of a metric, and what Prometheus adds of where it was scraped. */
type LabelOf<K extends MetricKey> = (typeof metricTable)[K]["labels"][number] | "job" | "instance";
/** Which series: a label with an operator and a text, such as `=~"put|getTuple"`. */
type Matching<K extends MetricKey> = Readonly<Partial<Record<LabelOf<K> | "le", string>>>;

/**
 * Selectors of PromQL, by a metric's key and its labels in the metric table. So a metric or a label that is renamed there is renamed in the
 * dashboard and the alerts, and one that is gone doesn't compile.
 */
export class Queries {
  readonly #everywhere: readonly string[];

  /** @param everywhere matchers of every selector, such as `job=~"$job"` */
  constructor(everywhere: readonly string[] = []) {
    this.#everywhere = everywhere;
  }

  /** A counter or a gauge. */
  of<K extends Value>(key: K, matching?: Matching<K>): string {
    return this.#selector(prometheusName(metricTable[key]), matching);
  }

  /** How often a histogram got a value. */
  count<K extends Histogram>(key: K, matching?: Matching<K>): string {
    return this.#selector(`${prometheusName(metricTable[key])}_count`, matching);
  }

  /** Its buckets. */
  buckets<K extends Histogram>(key: K, matching?: Matching<K>): string {
    return this.#selector(`${prometheusName(metricTable[key])}_bucket`, matching);
  }

  #selector(name: string, matching: Readonly<Record<string, string | undefined>> = {}): string {
    const own = Object.entries(matching).flatMap(([label, is]) =>
      is === undefined ? [] : [`${prometheusLabel(label)}${is}`],
    );
    const all = [...this.#everywhere, ...own];
    return all.length === 0 ? name : `${name}{${all.join(",")}}`;
  }
}

/** An aggregation that keeps some of a metric's labels. */
export function by<K extends MetricKey>(
  how: "sum" | "max" | "min",
  key: K,
  labels: readonly (LabelOf<K> | "le")[],
  expression: string,
): string {
  // `K` is what the labels are checked against.
  void key;
  return `${how} by (${labels.map(prometheusLabel).join(", ")}) (${expression})`;
}

/**
 * How much a counter grew. A series that only just began counts whole: Prometheus' own increase() doesn't see a first value, and some
 * counters begin with the one event that matters.
 */
export function grown(selector: string, window: string): string {
  return `(${selector} unless ${selector} offset ${window}) or increase(${selector}[${window}])`;
}
