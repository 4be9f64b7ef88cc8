import { Queries } from "./queries.ts";
import { rows, type Panel } from "./panels.ts";

const datasource = { type: "prometheus", uid: "${datasource}" };
const [width, height] = [8, 8];
/** Of Grafana's grid. */
const columns = 24;
const everything = new Queries().count("operations");

/** The dashboard as Grafana 10 and 11 import it. */
export function dashboard(): object {
  return {
    uid: "stratigraph",
    title: "Stratigraph",
    description: "Checkpoints of LangGraph agents. Generated from the metric table of @stratigraph/service.",
    tags: ["stratigraph", "langgraph"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    timezone: "browser",
    annotations: { list: [] },
    links: [],
    templating: {
      list: [
        { name: "datasource", label: "Data source", type: "datasource", query: "prometheus", hide: 0 },
        variable("job", `label_values(${everything}, job)`),
        variable("instance", `label_values(${everything}{job=~"$job"}, instance)`),
      ],
    },
    panels: laidOut(),
  };
}

function variable(name: string, query: string): object {
  return {
    name,
    type: "query",
    datasource,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: ".*",
    current: { selected: true, text: ["All"], value: ["$__all"] },
  };
}

/** Rows and their panels one below the other, three panels in a line. */
function laidOut(): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: columns, h: 1 },
    });
    y += 1;
    const inALine = columns / width;
    for (const [n, panel] of row.panels.entries()) {
      const gridPos = {
        x: (n % inALine) * width,
        y: y + Math.floor(n / inALine) * height,
        w: width,
        h: height,
      };
      panels.push({ id: panels.length + 1, ...shown(panel), gridPos });
    }
    y += Math.ceil(row.panels.length / inALine) * height;
  }
  return panels;
}

function shown({ title, description, unit, queries, words }: Panel): object {
  const mappings =
    words === undefined
      ? []
      : [
          {
            type: "value",
            options: Object.fromEntries(
              Object.entries(words).map(([value, text], index) => [value, { text, index }]),
            ),
          },
        ];
  return {
    type: words === undefined ? "timeseries" : "state-timeline",
    title,
    description,
    datasource,
    fieldConfig: { defaults: { unit, mappings, ...(words === undefined ? { min: 0 } : {}) }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom", showLegend: true } },
    targets: queries.map(({ expr, legend }, n) => ({
      refId: String.fromCharCode(65 + n),
      datasource,
      expr,
      legendFormat: legend,
      range: true,
    })),
  };
}
