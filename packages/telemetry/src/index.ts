export { observe, type ObserveOptions, type Telemetry } from "./observe.ts";
export type { Logger } from "./log.ts";
export { metricTable, prometheusName, type Metric, type MetricKey } from "./metricTable.ts";
export type { NodeCallbacks } from "./nodes.ts";
export type { OpenTelemetryApi } from "./openTelemetry/api.ts";
export type { PrometheusClient, PrometheusRegistry } from "./prometheus/client.ts";
