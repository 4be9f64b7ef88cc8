export { preferredInstance } from "./preferredInstance.ts";
export { drainOnSignals, type DrainOnSignalsOptions } from "./drain/drainOnSignals.ts";
export type { DrainLimits, ServiceOptions } from "./drain/drainOptions.ts";
export type { DrainStep } from "./drain/drainStep.ts";
export type { Run } from "./drain/runs.ts";
export { createService, type DrainReport, type Service } from "./drain/service.ts";
export { DrainingError, LockLostError, ThreadBusyError } from "./errors.ts";
export {
  healthHandlers,
  type Handler,
  type HealthHandlerOptions,
  type HealthHandlers,
} from "./health/healthHandlers.ts";
export type { Readiness } from "./health/readiness.ts";
export type { RenderedMetrics } from "./health/scrape.ts";
export type { ProbedTier } from "./health/tierProbe.ts";
export { withThread, type HeldThread } from "./lock/withThread.ts";
export type { WithThreadOptions } from "./lock/withThreadOptions.ts";
export type { ServedSaver } from "./servedSaver.ts";
export { observe, type ObserveOptions, type Telemetry } from "./telemetry/observe.ts";
export type { Logger } from "./telemetry/log.ts";
export type { Metric, MetricKey } from "./telemetry/metricTable.ts";
export type { NodeCallbacks } from "./telemetry/nodes.ts";
export type { OpenTelemetryApi } from "./telemetry/openTelemetry/api.ts";
export type { PrometheusClient, PrometheusRegistry } from "./telemetry/prometheus/client.ts";
