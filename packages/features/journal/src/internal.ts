// For the packages beside this one, which are released with it. Not versioned: anything may change in a patch.
export { writerIn, type Writer } from "./langgraph/taskConfig.ts";
export { equalsOf } from "./calls/gate.ts";
export { questionIn } from "./calls/questions.ts";
export { canElicit } from "./mcp/unknown.ts";
