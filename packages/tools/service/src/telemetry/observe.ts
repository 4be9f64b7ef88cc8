import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { InvalidOptionError, type TraceEvent } from "@stratigraph/core";
import { checkOptions, currentTracer, setTracer, trace } from "@stratigraph/core/internal";
import { logEvent, type Logger } from "./log.ts";
import { Measure } from "./measure.ts";
import { nodeCallbacks, type NodeCallbacks } from "./nodes.ts";
import type { CalledApi, OpenTelemetryApi } from "./openTelemetry/api.ts";
import { OpenTelemetryInstruments } from "./openTelemetry/instruments.ts";
import { spanTracer } from "./openTelemetry/spans.ts";
import type { CalledClient, PrometheusClient, PrometheusRegistry } from "./prometheus/client.ts";
import { PrometheusInstruments } from "./prometheus/instruments.ts";
import { LimitedLabels, type Recorder } from "./recorder.ts";

/** Whether metrics go to OpenTelemetry already, which the ES modules and the CommonJS modules of a process both have to know. */
const key = Symbol.for("stratigraph.openTelemetry");
const global = globalThis as { [key]?: boolean };

/** Options of {@link observe}. At least one of `openTelemetry`, `prometheus` and `log`. */
export interface ObserveOptions {
  /**
   * The module `@opentelemetry/api`. Metrics and spans go to the providers that the application has registered there: start its SDK before,
   * as metrics of a provider that comes later are lost.
   */
  readonly openTelemetry?: OpenTelemetryApi | undefined;
  /** With `openTelemetry`: whether to make spans. Default true. */
  readonly spans?: boolean | undefined;
  /** The module `prom-client`. Its metrics go to `register`. */
  readonly prometheus?: PrometheusClient | undefined;
  /** With `prometheus`: a registry of its own. Default: the module's. */
  readonly register?: PrometheusRegistry | undefined;
  /** A logger such as pino: failures, conflicts, breakers and the like become lines. */
  readonly log?: Logger | undefined;
  /**
   * Whether spans and lines name the thread (`gen_ai.conversation.id`, `threadId`). Default true. With false, an error whose text names the
   * thread is told by its code alone. Ids of threads are never labels of metrics.
   */
  readonly threadIds?: boolean | undefined;
}

/** The result of {@link observe}. */
export interface Telemetry {
  /**
   * A callback handler that measures the nodes of a graph: executions, durations and errors by node.
   * @param graph its name, a label of the metric
   * @example graph.withConfig({ callbacks: [telemetry.callbacks("support")] })
   */
  callbacks(graph: string): NodeCallbacks;
  /** Ends the reporting, and removes the metrics of `prometheus` from its registry. May be called again. */
  stop(): void;
}

/**
 * Reports the work of all savers of this process to OpenTelemetry, Prometheus and a log. Call it once, when the process starts.
 *
 * @example
 * import * as openTelemetry from "@opentelemetry/api";
 * const telemetry = observe({ openTelemetry });
 * @throws InvalidOptionError
 */
export function observe(options: ObserveOptions): Telemetry {
  checkOptions<ObserveOptions>("observe", options, {
    openTelemetry: true,
    spans: true,
    prometheus: true,
    register: true,
    log: true,
    threadIds: true,
  });
  const { openTelemetry, spans = true, prometheus, log, threadIds = true } = options;
  if (openTelemetry === undefined && prometheus === undefined && log === undefined)
    throw new InvalidOptionError(
      "observe",
      "no openTelemetry, prometheus or log",
      'Pass at least one: import * as openTelemetry from "@opentelemetry/api".',
    );
  checkModules(options);
  const api = openTelemetry as CalledApi | undefined;
  if (api !== undefined && (global[key] === true || (spans && currentTracer() !== undefined)))
    throw new InvalidOptionError(
      "openTelemetry",
      "a process that is observed already",
      "Call observe() once in a process, or stop() the one before.",
    );
  const recorders: (Recorder & { stop(): void })[] = [];
  if (prometheus !== undefined)
    recorders.push(
      new PrometheusInstruments(
        prometheus as unknown as CalledClient,
        options.register ?? prometheus.register,
      ),
    );
  if (api !== undefined) {
    recorders.push(new OpenTelemetryInstruments(api.metrics.getMeter("@stratigraph/service")));
    global[key] = true;
  }
  const limited = new LimitedLabels(recorders);
  const measure = new Measure(limited);
  const listen = (message: unknown): void => {
    const event = message as TraceEvent;
    if (recorders.length > 0) guarded("metrics", event, () => measure.take(event));
    if (log !== undefined) guarded("log", event, () => logEvent(log, event, threadIds));
  };
  const tracer = api !== undefined && spans ? spanTracer(api, threadIds) : undefined;
  if (tracer !== undefined) setTracer(tracer);
  subscribe("stratigraph", listen);
  let over = false;
  return {
    callbacks: (graph) => nodeCallbacks(graph, limited),
    stop: () => {
      if (over) return;
      over = true;
      unsubscribe("stratigraph", listen);
      if (tracer !== undefined && currentTracer() === tracer) setTracer(undefined);
      if (api !== undefined) delete global[key];
      for (const recorder of recorders) recorder.stop();
    },
  };
}

/** An error in a listener of a diagnostics channel would end the process. An error of a logger or a registry must not. */
function guarded(hook: "metrics" | "log", event: TraceEvent, tell: () => void): void {
  try {
    tell();
  } catch (error) {
    if (event?.type !== "hook") trace({ type: "hook", hook, error });
  }
}

function checkModules({ openTelemetry, prometheus, log }: ObserveOptions): void {
  const isMissing = (value: unknown, ...names: string[]): boolean =>
    names.some((name) => (Object(value) as Record<string, unknown>)[name] === undefined);
  if (openTelemetry !== undefined && isMissing(openTelemetry, "context", "trace", "metrics"))
    throw new InvalidOptionError(
      "openTelemetry",
      "something else",
      'Pass the module: import * as openTelemetry from "@opentelemetry/api".',
    );
  if (prometheus !== undefined && isMissing(prometheus, "Counter", "Gauge", "Histogram"))
    throw new InvalidOptionError(
      "prometheus",
      "something else",
      'Pass the module: import * as prometheus from "prom-client".',
    );
  if (log !== undefined && isMissing(log, "debug", "info", "warn", "error"))
    throw new InvalidOptionError("log", "something else", "Pass a logger such as pino().");
}
