// For the packages beside this one, which are released with it. Not versioned: anything may change in a patch.
export { advance } from "./advance.ts";
export { beforeMessage } from "./beforeMessage.ts";
export { isSaver } from "./checkSaver.ts";
export { forksOf } from "./branches.ts";
export { deltaChannels } from "./deltaAncestors.ts";
export { diffValues } from "./diffValues.ts";
export { Lanes } from "./lanes.ts";
export { readPoint } from "./readPoint.ts";
export { readDeltaValues } from "./readValues.ts";
export { readReflog } from "./reflog.ts";
export { threadRuns, type Run, type RunCheckpoint } from "./threadRuns.ts";
export { sameValue } from "./plainValue.ts";
export { unionValues } from "./unionValues.ts";
