export { observe, type ObserveOptions, type Telemetry } from "./observe.ts";
export type { Logger } from "./log.ts";
export type { Metric, MetricKey } from "./metricTable.ts";
export type { NodeCallbacks } from "./nodes.ts";
export type { OpenTelemetryApi } from "./openTelemetry/api.ts";
export type { PrometheusClient, PrometheusRegistry } from "./prometheus/client.ts";
