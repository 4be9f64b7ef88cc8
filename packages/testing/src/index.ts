export { testGraphs } from "./graphs/testGraphs.ts";
export type { GraphSetup, GraphSuiteOptions, OpenedSaver } from "./graphs/setup.ts";
