import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { afterAll, expect } from "vitest";
import { clauses } from "../src/conformance/clauses.ts";
import { failedClauses } from "../src/conformance/report.ts";
import { testSaver } from "../src/conformance/testSaver.ts";
import { memoryFailures } from "./officialFailures.ts";

const report = testSaver(
  "official MemorySaver",
  async () => ({ saver: new MemorySaver(), close: async () => {} }),
  {
    knownFailures: memoryFailures,
  },
);

afterAll(() => {
  expect(report.results.map((result) => result.clause)).toEqual(clauses.map((clause) => clause.name));
  expect(failedClauses(report).toSorted()).toEqual(memoryFailures.toSorted());
});
