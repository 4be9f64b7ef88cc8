import type { Profiler } from "node:inspector";
import { summarise } from "./profileSummary.ts";

type Node = Profiler.ProfileNode;

const node = (id: number, functionName: string, url: string, children: number[] = []): Node => ({
  id,
  callFrame: { functionName, url, scriptId: "1", lineNumber: 9, columnNumber: 0 },
  children,
});
const pg = "/r/node_modules/.pnpm/pg@8/node_modules/pg/lib/client.js";

describe("the summary of a profile", () => {
  const nodes = [
    node(1, "(root)", "", [2, 6]),
    node(2, "put", "/r/packages/engine/core/src/saver/tierSaver.ts", [3]),
    node(3, "query", pg, [4, 5]),
    node(4, "writev", ""),
    node(5, "put", "/r/packages/engine/core/src/saver/tierSaver.ts"),
    node(6, "(idle)", ""),
  ];
  const summary = summarise(
    {
      nodes,
      startTime: 0,
      endTime: 100,
      samples: [2, 3, 4, 5, 6, 2],
      timeDeltas: [1000, 2000, 3000, 4000, 5000, -9],
    },
    ({ url, lineNumber }) => ({ file: url, line: lineNumber }),
  );
  const named = (of: "functions" | "packages" | "files", name: string) =>
    summary[of].find((share) => share.name === name);

  it("sums each function's own time, and with its callees once where it calls itself", () => {
    expect(summary.wall).toBe(15);
    expect(named("functions", "put packages/engine/core/src/saver/tierSaver.ts:10")).toMatchObject({
      self: 5,
      total: 10,
    });
    expect(named("functions", "query pg/lib/client.js:10")).toMatchObject({ self: 2, total: 9 });
    expect(named("functions", "writev")).toMatchObject({ self: 3, total: 3 });
  });

  it("sums packages and our files up, V8's own entries by their names", () => {
    expect(summary.packages.map(({ name, self }) => [name, self])).toEqual([
      ["@stratigraph/core", 5],
      ["(idle)", 5],
      ["native functions", 3],
      ["pg", 2],
    ]);
    expect(summary.files).toEqual([
      { name: "packages/engine/core/src/saver/tierSaver.ts", self: 5, total: 10 },
    ]);
  });
});
