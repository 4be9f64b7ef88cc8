import { setTimeout as sleep } from "node:timers/promises";
import { rows } from "../../packages/tools/service/test/telemetry/monitoring/panels.ts";
import { startPrometheus, type Prometheus } from "../servers/prometheus.ts";

/** A Prometheus that scrapes instances of the service, as the one of compose.yaml does, but every second. */
export async function scraping(ports: readonly number[]): Promise<Prometheus> {
  const targets = ports.map((port) => `127.0.0.1:${port}`);
  return await startPrometheus(`
global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs:
  - { job_name: agents, static_configs: [{ targets: ${JSON.stringify(targets)} }] }
`);
}

/** Asks all that the dashboard shows. Panels are told as "row: panel". @throws for a query that Prometheus refuses */
export async function askPanels(
  prometheus: Prometheus,
): Promise<{ readonly speaking: string[]; readonly silent: string[] }> {
  // A rate needs two scrapes.
  await sleep(2200);
  const speaking: string[] = [];
  const silent: string[] = [];
  for (const { title: row, panels } of rows)
    for (const { title, queries } of panels) {
      let speaks = true;
      for (const { expr } of queries) {
        const asked = expr
          .replaceAll("$__rate_interval", "5m")
          .replaceAll("$job", "agents")
          .replaceAll("$instance", ".*");
        const values = (await prometheus.query(asked)).map(({ value }) => Number(value[1]));
        speaks &&= values.some(Number.isFinite);
      }
      (speaks ? speaking : silent).push(`${row}: ${title}`);
    }
  return { speaking, silent };
}
