import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { available } from "../../../../../test/servers/available.ts";
import { root } from "../../../../../test/documents.ts";
import { run } from "../../../../../test/servers/process.ts";
import {
  metricTable,
  prometheusLabel,
  prometheusName,
  type Metric,
} from "../../src/telemetry/metricTable.ts";
import { alertCases, promtoolTests } from "./monitoring/alertCases.ts";
import { alerts, runbookOf } from "./monitoring/alerts.ts";
import { alertsFile, monitoringFiles } from "./monitoring/files.ts";
import { rows } from "./monitoring/panels.ts";

// What the package ships for Prometheus and Grafana is what the metric table makes, and each alert has a page. UPDATE=1 writes it anew.

const guide = join(root, "docs/guides/monitoring.md");
const [begin, end] = ["<!-- metrics -->", "<!-- /metrics -->"];

test.each([...monitoringFiles()])("%s is what the metric table makes", (path, text) => {
  if (process.env["UPDATE"] === "1") writeFileSync(path, text);
  expect(readFileSync(path, "utf8")).toBe(text);
});

test("the guide lists every metric", async () => {
  const kept = readFileSync(guide, "utf8");
  const [before = "", after = ""] = [kept.split(begin)[0], kept.split(end)[1]];
  if (process.env["UPDATE"] === "1") {
    writeFileSync(guide, `${before}${begin}\n\n${metricList()}\n\n${end}${after}`);
    await run("npx", ["oxfmt", guide], { cwd: root });
  }
  const listed = readFileSync(guide, "utf8").split(begin)[1]!.split(end)[0]!;
  expect(cells(listed)).toEqual(cells(metricList()));
});

test("every metric is in the dashboard", () => {
  const queries = rows
    .flatMap(({ panels }) => panels.flatMap((panel) => panel.queries))
    .map(({ expr }) => expr);
  const missing = Object.values(metricTable)
    .map(prometheusName)
    .filter((name) => !queries.some((query) => query.includes(name)));
  expect(missing).toEqual([]);
});

test("every alert has a page, and every page an alert", () => {
  const pages = readdirSync(join(root, "docs/runbooks")).map((name) => `docs/runbooks/${name}`);
  expect(pages.toSorted()).toEqual(alerts.map(({ alert }) => runbookOf(alert)).toSorted());
  for (const { alert } of alerts) {
    const text = readFileSync(join(root, runbookOf(alert)), "utf8");
    expect(text).toMatch(new RegExp(`^# ${alert}\n`));
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
    expect(headings, alert).toEqual([
      "What it means",
      "What users notice",
      "What to look at",
      "What to do",
      "What not to do",
    ]);
  }
});

test("commands of the pages exist", () => {
  const commands = readdirSync(join(root, "docs/runbooks")).flatMap((name) =>
    [...readFileSync(join(root, "docs/runbooks", name), "utf8").matchAll(/npx stratigraph ([a-z]+)/g)].map(
      ([, command]) => command!,
    ),
  );
  const known = ["change", "read", "verify", "transfer"].flatMap((folder) =>
    readdirSync(join(root, "packages/tools/cli/src/operations", folder)).map((file) =>
      file.replace(".ts", ""),
    ),
  );
  expect(commands.length).toBeGreaterThan(alerts.length);
  expect(commands.filter((command) => !known.includes(command))).toEqual([]);
});

test("every alert is tested to fire, and not to", () => {
  expect(Object.keys(alertCases)).toEqual(alerts.map(({ alert }) => alert));
  for (const cases of Object.values(alertCases))
    expect(new Set(cases.map(({ fires }) => fires))).toEqual(new Set([true, false]));
});

test.skipIf(!available.prometheus)("promtool takes the rules, and each fires when it should", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-promtool-"));
  try {
    const checked = await run("promtool", ["check", "rules", alertsFile]);
    expect(checked).toContain(`${alerts.length + 1} rules found`);
    const tests = promtoolTests(alertsFile);
    const files = tests.map((_, n) => join(folder, `${n}.yml`));
    for (const [n, text] of tests.entries()) writeFileSync(files[n]!, text);
    expect(await run("promtool", ["test", "rules", ...files])).toContain("SUCCESS");
    // A case that is wrong is seen.
    writeFileSync(files[0]!, tests[0]!.replace('"0+30x10"', '"0x10"'));
    await expect(run("promtool", ["test", "rules", files[0]!])).rejects.toThrow(/FAILED/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what the alerts' links name is there", () => {
  const links = [...readFileSync(alertsFile, "utf8").matchAll(/blob\/main\/(\S+)/g)].map(([, path]) => path!);
  expect(links).toHaveLength(alerts.length);
  expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

function metricList(): string {
  const lines = Object.values(metricTable as Record<string, Metric>).map(
    (metric) =>
      `| \`${prometheusName(metric)}\` | ${metric.kind} | ${metric.labels.map((label) => `\`${prometheusLabel(label)}\``).join(", ")} | ${metric.help} |`,
  );
  return ["| Prometheus | Kind | Labels | Tells |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

/** Rows of a table without the spaces that a formatter puts there. */
function cells(table: string): string[] {
  return table
    .trim()
    .split("\n")
    .filter((line) => !/^[|\s-]+$/.test(line))
    .map((line) => line.replaceAll(/\s*\|\s*/g, "|"));
}
