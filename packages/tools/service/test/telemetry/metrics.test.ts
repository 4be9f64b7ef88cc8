import { Command } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import * as openTelemetry from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { observe, type Telemetry } from "@stratigraph/service";
import { metricTable, prometheusName } from "@stratigraph/service/internal";
import * as prometheus from "prom-client";
import { agent, openStack, seriesIn } from "./support.ts";

// What a Prometheus would scrape of real savers, by both ways.

const secret = "thread of anna@example.com";
let stack: Awaited<ReturnType<typeof openStack>>;
let register: prometheus.Registry;
let exporter: PrometheusExporter;
let telemetry: Telemetry;

beforeAll(async () => {
  stack = await openStack();
});
afterAll(() => stack.close());
beforeEach(() => {
  register = new prometheus.Registry();
  exporter = new PrometheusExporter({ preventServerStart: true });
  openTelemetry.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
  telemetry = observe({ openTelemetry, prometheus, register, spans: false });
});
afterEach(() => {
  telemetry.stop();
  openTelemetry.metrics.disable();
});

/**
 * The text that OpenTelemetry makes for Prometheus. Its exporter for JavaScript leaves the unit out of the names, which the Collector and
 * Prometheus' own receiver put there, as the specification has it. So does this.
 */
async function exported(): Promise<string> {
  const { resourceMetrics, errors } = await exporter.collect();
  expect(errors).toEqual([]);
  let text = new PrometheusSerializer().serialize(resourceMetrics);
  for (const [, name, unit] of text.matchAll(/^# UNIT (\S+) (s|By)$/gm)) {
    const stem = name!.replace(/_total$/, "");
    text = text.replaceAll(
      new RegExp(`^${stem}(?=[_{ ])`, "gm"),
      `${stem}_${unit === "s" ? "seconds" : "bytes"}`,
    );
  }
  return text;
}

async function valueOf(name: string, labels: Record<string, string>): Promise<number> {
  const { values } = (await register.getSingleMetric(name)!.get()) as {
    values: { value: number; labels: Record<string, unknown>; metricName?: string }[];
  };
  return values
    .filter(
      ({ metricName }) => metricName === undefined || metricName === name || metricName === `${name}_count`,
    )
    .filter(({ labels: own }) => Object.entries(labels).every(([key, value]) => own[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

test("a run on a stack is measured by both under the same names, and no label names a thread", async () => {
  const config = { configurable: { thread_id: secret }, callbacks: [telemetry.callbacks("support")] };
  const saver = stack.open();
  await agent(saver).invoke({ text: "hello" }, config);
  await agent(saver).invoke(new Command({ resume: "yes" }), config);
  await agent(saver)
    .invoke({ text: "fail" }, config)
    .catch(() => undefined);
  await (saver.tier as unknown as { idle(): Promise<void> }).idle();
  await agent(stack.open()).getState(config);
  await saver.maintain();

  const duration = prometheusName(metricTable.operations);
  expect(duration).toBe("stratigraph_operation_duration_seconds");
  expect(await valueOf(duration, { operation: "put", outcome: "ok" })).toBeGreaterThan(4);
  const node = prometheusName(metricTable.nodes);
  const nodes = { graph: "support", node: "write" };
  expect(await valueOf(`${node}`, { ...nodes, outcome: "ok" })).toBeGreaterThan(0);
  expect(await valueOf(`${node}`, { ...nodes, outcome: "failed" })).toBeGreaterThan(0);
  expect(await valueOf(`${node}`, { graph: "support", node: "ask", outcome: "interrupted" })).toBeGreaterThan(
    0,
  );
  expect(await valueOf("stratigraph_hot_reads_total", { tier: "redis", result: "hit" })).toBeGreaterThan(0);
  expect(await valueOf("stratigraph_calls_active", {})).toBe(0);
  expect(await valueOf("stratigraph_tier_sent_bytes_total", { tier: "postgres" })).toBeGreaterThan(500);
  expect(await valueOf("stratigraph_tier_sent_bytes_total", { tier: "redis" })).toBeGreaterThan(500);
  expect(await valueOf("stratigraph_maintenance_last_success_seconds", {})).toBeGreaterThan(1_700_000_000);

  const [scraped, other] = [await register.metrics(), await exported()];
  for (const text of [scraped, other]) {
    expect(text).not.toContain("anna");
    expect(text).toMatch(/^stratigraph_node_duration_seconds_count\{.*graph="support",node="ask"/m);
  }
  const ofClient = seriesIn(scraped);
  // prom-client tells a counter without labels before anything was counted.
  const ofOpenTelemetry = seriesIn(other);
  expect(ofOpenTelemetry.size).toBeGreaterThan(15);
  expect([...ofOpenTelemetry].filter((series) => !ofClient.has(series))).toEqual([]);
  const counted = [...ofClient].filter((series) => !series.endsWith("{}"));
  expect(counted.filter((series) => !ofOpenTelemetry.has(series))).toEqual([]);
});

test("a conflict, a side branch, a late write and a failing tier are counted", async () => {
  const tier = new MemoryTier();
  const put = (saver: TierSaver, parent: string | undefined) =>
    saver.put(
      { configurable: { thread_id: secret, checkpoint_ns: "", checkpoint_id: parent } },
      { ...emptyCheckpoint(), id: uuid6(1) },
      { source: "loop", step: 1, parents: {} },
      {},
    );
  const saver = new TierSaver(tier);
  const { configurable } = await put(saver, undefined);
  const first = configurable!["checkpoint_id"] as string;
  await put(saver, first);
  await put(new TierSaver(tier, { conflict: "branch" }), first);
  await put(new TierSaver(tier, { conflict: "throw" }), first).catch(() => undefined);
  expect(await valueOf("stratigraph_conflicts_total", { outcome: "branched" })).toBe(1);
  expect(await valueOf("stratigraph_conflicts_total", { outcome: "thrown" })).toBe(1);
  const duration = prometheusName(metricTable.operations);
  expect(await valueOf(duration, { operation: "put", outcome: "branched" })).toBe(1);
  expect(await valueOf(duration, { operation: "put", outcome: "conflict" })).toBe(1);
  expect(await valueOf("db_client_operation_duration_seconds", { error_type: "CHECKPOINT_CONFLICT" })).toBe(
    1,
  );
});

test("names of nodes that an application makes up without end are limited", async () => {
  const handler = telemetry.callbacks("g");
  for (let n = 0; n < 500; n += 1) {
    handler.handleChainStart(
      {},
      {},
      `run ${n}`,
      undefined,
      ["graph:step:1"],
      { langgraph_node: `node ${n}` },
      "chain",
      `node ${n}`,
    );
    handler.handleChainEnd({}, `run ${n}`);
  }
  const { values } = (await register.getSingleMetric("stratigraph_node_duration_seconds")!.get()) as {
    values: { labels: Record<string, unknown> }[];
  };
  expect(new Set(values.map(({ labels }) => labels["node"])).size).toBe(101);
  expect(await valueOf("stratigraph_node_duration_seconds", { node: "(other)" })).toBe(400);
});

test("a registry is filled once, and again after stop()", () => {
  expect(() => observe({ prometheus, register })).toThrowError(
    /has stratigraph_operation_duration_seconds already/,
  );
  telemetry.stop();
  telemetry.stop();
  telemetry = observe({ prometheus, register });
});

test.each([
  ["nothing", {}, "openTelemetry, prometheus or log"],
  ["another module", { openTelemetry: {} }, "openTelemetry"],
  ["a registry", { prometheus: new prometheus.Registry() }, "prometheus"],
  ["a console without debug", { log: { info: () => undefined } }, "log"],
  ["a name misspelt", { openTelemtry: openTelemetry }, "openTelemetry"],
])("%s is refused with what to do", (_, options, field) => {
  expect(() => observe(options as object)).toThrowError(
    expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(field) }),
  );
});
