export type {
  Clause,
  ClauseContext,
  ConformingSaver,
  ExtendedMethod,
  ExtendedMethods,
  PruneOptions,
} from "./conformance/clause.ts";
export {
  type ClauseResult,
  type ConformanceReport,
  failedClauses,
  formatReports,
} from "./conformance/report.ts";
export { runConformance } from "./conformance/runConformance.ts";
export { type SaverSuiteOptions, testSaver } from "./conformance/testSaver.ts";
export { testGraphs } from "./graphs/testGraphs.ts";
export type { GraphSetup, GraphSuiteOptions, OpenedSaver } from "./graphs/setup.ts";
