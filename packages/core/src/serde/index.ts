export { SerializationError } from "./serializationError.ts";
export type { SerializationFailure } from "./serializationError.ts";
export { StratigraphSerializer } from "./stratigraphSerializer.ts";
export type { StratigraphSerializerOptions } from "./stratigraphSerializer.ts";
export type { UnknownClasses } from "./encoder.ts";
export type { UnknownTypes } from "./decoder.ts";
export type { LangGraphClasses } from "./langGraphClasses.ts";
export type { LangChainClasses, LangChainConstructor } from "./langChainClasses.ts";
export type { RegisteredLangChainType, RegisteredType } from "./typeRegistry.ts";
