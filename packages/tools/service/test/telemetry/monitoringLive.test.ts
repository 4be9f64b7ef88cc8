import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { healthHandlers } from "@stratigraph/service";
import * as prometheus from "prom-client";
import { available } from "../../../../../test/servers/available.ts";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { startPrometheus, type Prometheus } from "../../../../../test/servers/prometheus.ts";
import { observe, type Telemetry } from "../../src/index.ts";
import { metricTable, prometheusName } from "../../src/internal.ts";
import { alerts } from "./monitoring/alerts.ts";
import { alertsFile } from "./monitoring/files.ts";
import { rows } from "./monitoring/panels.ts";
import { openTroubles, type Troubles } from "./monitoring/troubles.ts";

// A real Prometheus scrapes a process whose savers have work and trouble, and is asked all that the dashboard and the alerts ask.

/** Nothing of this happens here, so these have nothing to say. */
const rightlyEmpty = [
  "ReadyzFailing",
  "LateWrites",
  "MaintenanceStale",
  "ArchiveUnavailable",
  "VerifyDamage",
  "StorageFull",
];

/** Says something where the machine is slow. */
const dependsOnMachine = "LatencyP99";

describe.skipIf(!available.prometheus || !available.redis)("a real Prometheus", () => {
  let telemetry: Telemetry;
  let troubles: Troubles;
  let server: Server;
  let scraper: Prometheus;

  beforeAll(async () => {
    const register = new prometheus.Registry();
    telemetry = observe({ prometheus, register });
    troubles = await openTroubles(telemetry);
    const { readyz } = healthHandlers(troubles.saver);
    server = createServer(async ({ url }, response) => {
      if (url === "/metrics") return response.end(await register.metrics());
      // What the blackbox exporter answers.
      const { ok } = await readyz(new Request("http://a/readyz"));
      return response.end(`probe_success ${ok ? 1 : 0}\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const target = `["127.0.0.1:${(server.address() as AddressInfo).port}"]`;
    scraper = await startPrometheus(`
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: ["${alertsFile}"]
scrape_configs:
  - { job_name: agents, static_configs: [{ targets: ${target} }] }
  - { job_name: stratigraph-readyz, metrics_path: /probe, static_configs: [{ targets: ${target} }] }
`);
    const scraped = async (): Promise<void> => {
      const count = "sum(stratigraph_operation_duration_seconds_count)";
      const { values } = (await register
        .getSingleMetric("stratigraph_operation_duration_seconds")!
        .get()) as {
        values: { metricName?: string; value: number }[];
      };
      const now = values
        .filter(({ metricName }) => metricName?.endsWith("_count"))
        .reduce((sum, { value }) => sum + value, 0);
      await waitUntil("a scrape", async () => Number((await scraper.query(count))[0]?.value[1]) >= now);
      await sleep(1100);
    };
    // Rates are of what grew between scrapes.
    await troubles.work();
    await scraped();
    await troubles.work();
    await scraped();
    await troubles.killRedis();
    for (let n = 0; n < 2; n += 1) {
      await troubles.workWithoutRedis();
      await scraped();
    }
  });
  afterAll(async () => {
    telemetry?.stop();
    await scraper?.stop();
    server?.close();
    server?.closeAllConnections();
    await troubles?.close();
  });

  const panels = rows.flatMap(({ title: row, panels: inRow }) =>
    inRow.flatMap(({ title, queries }) => queries.map(({ expr }) => ({ name: `${row}: ${title}`, expr }))),
  );

  test.each(panels)("$name", async ({ expr }) => {
    const asked = expr
      .replaceAll("$__rate_interval", "1m")
      .replaceAll("$job", "agents")
      .replaceAll("$instance", ".*");
    const values = (await scraper.query(asked)).map(({ value }) => Number(value[1]));
    expect(values.filter((value) => Number.isFinite(value)).length, expr).toBeGreaterThan(0);
  });

  test.each(alerts)("$alert", async ({ alert, expr }) => {
    const speaks = async (): Promise<boolean> => (await scraper.query(expr)).length > 0;
    const now = await speaks();
    if (alert === dependsOnMachine) return;
    const expected = !rightlyEmpty.includes(alert);
    // A busy machine misses a scrape now and then.
    if (now !== expected)
      await waitUntil(expr, async () => (await speaks()) === expected, { timeoutMs: 10_000 });
  });

  test("what the silent alerts ask about is there", async () => {
    for (const metric of Object.values(metricTable)) {
      const name = `${prometheusName(metric)}${metric.kind === "histogram" ? "_count" : ""}`;
      expect((await scraper.query(name)).length, name).toBeGreaterThan(0);
    }
    for (const asked of ['probe_success{job="stratigraph-readyz"}', 'up{job="agents"}'])
      expect(await scraper.query(`max_over_time(${asked}[1m]) == 1`), asked).toHaveLength(1);
  });

  test("it evaluates the rules without an error", async () => {
    const response = await fetch(`${scraper.url}/api/v1/rules`);
    const { data } = (await response.json()) as {
      data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
    };
    const rules = data.groups.flatMap((group) => group.rules);
    expect(rules).toHaveLength(alerts.length + 1);
    expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);
  });

  test("a query that is wrong is seen", async () => {
    await expect(scraper.query("sum by (tier) (")).rejects.toThrow(/parse error/);
  });
});
