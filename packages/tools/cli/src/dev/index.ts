export { findLangGraphApi } from "./langgraphApi.ts";
export { readLangGraphJson, setVariables } from "./langgraphJson.ts";
export { startDev } from "./startDev.ts";
