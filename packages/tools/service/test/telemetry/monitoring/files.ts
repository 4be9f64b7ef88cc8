import { join } from "node:path";
import { alerts, recordings, runbookOf } from "./alerts.ts";
import { dashboard } from "./dashboard.ts";

const folder = join(import.meta.dirname, "../../../monitoring");
const repository = "https://github.com/stratigraph/stratigraph/blob/main";

export const dashboardFile = join(folder, "dashboard.json");
export const alertsFile = join(folder, "alerts.yml");

/** What the package ships for Grafana and Prometheus, by path. */
export function monitoringFiles(): ReadonlyMap<string, string> {
  return new Map([
    [dashboardFile, `${JSON.stringify(dashboard(), null, 2)}\n`],
    [alertsFile, rules()],
  ]);
}

/** The rules as YAML. Texts are JSON's, which YAML reads too. */
function rules(): string {
  const text = JSON.stringify;
  const lines = [
    "# Generated from the metric table of @stratigraph/service. Do not edit:",
    "# UPDATE=1 npx vitest run packages/tools/service/test/telemetry/monitoring.test.ts",
    "groups:",
    "  # What Prometheus can't know. Leave this group out, and have your own rule of the same name.",
    "  - name: stratigraph-limits",
    "    rules:",
    ...recordings.flatMap(({ record, expr }) => [`      - record: ${record}`, `        expr: ${text(expr)}`]),
    "  - name: stratigraph",
    "    rules:",
    ...alerts.flatMap((rule) => [
      `      - alert: ${rule.alert}`,
      "        expr: |-",
      `          ${rule.expr}`,
      `        for: ${rule.for}`,
      "        labels:",
      `          severity: ${rule.severity}`,
      "        annotations:",
      `          summary: ${text(rule.summary)}`,
      `          description: ${text(rule.description)}`,
      `          runbook_url: ${repository}/${runbookOf(rule.alert)}`,
    ]),
  ];
  return `${lines.join("\n")}\n`;
}
