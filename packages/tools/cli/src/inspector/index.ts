export { createInspector, type Inspector } from "./createInspector.ts";
export { inspect, type InspectOptions, type RunningInspector } from "./inspect.ts";
export type { InspectorOptions } from "./options.ts";
export type { ErrorBody } from "./api/errors.ts";
export type { Session } from "./api/session.ts";
