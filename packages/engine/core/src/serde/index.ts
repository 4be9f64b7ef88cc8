export { SerializationError } from "./serializationError.ts";
export type { StratigraphSerializerOptions } from "./serializerOptions.ts";
export { StratigraphSerializer } from "./stratigraphSerializer.ts";
export type { RegisteredType } from "./typeRegistry.ts";
