// For the packages beside this one, which are released with it. Not versioned: anything may change in a patch.
export { failedClauses, formatReports } from "./conformance/report.ts";
export { runConformance } from "./conformance/runConformance.ts";
