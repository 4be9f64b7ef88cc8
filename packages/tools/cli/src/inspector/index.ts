export { createInspector, type Inspector, type Session } from "./createInspector.ts";
export { inspect, type InspectOptions, type RunningInspector } from "./inspect.ts";
export type { InspectorOptions } from "./options.ts";
export type { ErrorBody } from "../serving/errors.ts";
