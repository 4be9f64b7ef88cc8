import type { Scenario } from "./scenario.ts";
import { deltaLineScenarios } from "./scenarios/deltaLineScenarios.ts";
import { deltaScenarios } from "./scenarios/deltaScenarios.ts";
import { failureScenarios } from "./scenarios/failureScenarios.ts";
import { functionalScenarios } from "./scenarios/functionalScenarios.ts";
import { historyScenarios } from "./scenarios/historyScenarios.ts";
import { interruptScenarios } from "./scenarios/interruptScenarios.ts";
import { deltaMessageScenarios, messageScenarios } from "./scenarios/messageScenarios.ts";
import { mutatingScenarios, plainScenarios } from "./scenarios/plainScenarios.ts";
import { stepScenarios } from "./scenarios/stepScenarios.ts";
import { subgraphScenarios } from "./scenarios/subgraphScenarios.ts";

/** All scenarios, which are played on both savers. */
export const scenarios: readonly Scenario[] = [
  ...plainScenarios,
  ...mutatingScenarios,
  ...deltaScenarios,
  ...deltaLineScenarios,
  ...messageScenarios,
  ...deltaMessageScenarios,
  ...stepScenarios,
  ...interruptScenarios,
  ...subgraphScenarios,
  ...failureScenarios,
  ...historyScenarios,
  ...functionalScenarios,
];
