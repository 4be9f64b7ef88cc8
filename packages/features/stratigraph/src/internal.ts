// For the packages beside this one, which are released with it. Not versioned: anything may change in a patch.
export { openCheckpointer } from "./createCheckpointer.ts";
export { loadConfig } from "./settings/loadConfig.ts";
