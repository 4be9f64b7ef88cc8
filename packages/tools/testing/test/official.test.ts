import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { failedClauses, formatReports } from "../src/conformance/report.ts";
import { runConformance } from "../src/conformance/runConformance.ts";
import { memoryFailures, postgresFailures } from "./officialFailures.ts";
import { openOfficialPostgres } from "./officialPostgres.ts";

describe("which clauses the official savers fail", () => {
  it("MemorySaver and PostgresSaver fail the known ones and no others", async () => {
    const memory = await runConformance("MemorySaver", async () => ({
      saver: new MemorySaver(),
      close: async () => {},
    }));
    const postgres = await runConformance("PostgresSaver", () => openOfficialPostgres());
    expect(failedClauses(memory).toSorted()).toEqual(memoryFailures.toSorted());
    expect(failedClauses(postgres).toSorted()).toEqual(postgresFailures.toSorted());
    for (const report of [memory, postgres])
      expect(report.missing).toEqual(["copyThread", "deleteForRuns", "prune"]);
    for (const result of [...memory.results, ...postgres.results])
      expect(result.passed).toBe(result.error === undefined);

    const table = formatReports([memory, postgres]);
    expect(table).toMatch(/^capability +MemorySaver +PostgresSaver$/m);
    expect(table).toMatch(/^put +23\/24 +22\/24$/m);
    expect(table).toMatch(/^prune +0\/13 +0\/13$/m);
    expect(table).toMatch(/^ {2}put_branches_keep_their_values +pass +FAIL$/m);
    if (process.env["STRATIGRAPH_SHOW_REPORT"] !== undefined) process.stdout.write(`${table}\n`);
  });
});
