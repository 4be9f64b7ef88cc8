export type {
  Clause,
  ClauseContext,
  ConformingSaver,
  ExtendedMethod,
  ExtendedMethods,
  ExtendedPruneOptions,
} from "./conformance/clause.ts";
export type { ClauseResult, ConformanceReport } from "./conformance/report.ts";
export { type SaverSuiteOptions, testSaver } from "./conformance/testSaver.ts";
export { type DifferentialOptions, testDifferential } from "./differential/testDifferential.ts";
export { testGraphs } from "./graphs/testGraphs.ts";
export type { SuiteDurabilities } from "./graphs/durabilities.ts";
export type { GraphSetup, GraphSuiteOptions, OpenedSaver } from "./graphs/setup.ts";
export { FaultyTier } from "./faulty/faultyTier.ts";
export type { FailOptions, FaultPredicate } from "./faulty/faults.ts";
export type { Hold } from "./faulty/hold.ts";
export type { TierCall, TierMethod } from "./faulty/tierCall.ts";
export { type PromiseSuiteOptions, testPromises } from "./promises/testPromises.ts";
export type { OpenedTier, TierPart, TierSuiteOptions } from "./tier/setup.ts";
export { testTier } from "./tier/testTier.ts";
