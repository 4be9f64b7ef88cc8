export { SerializationError } from "./serializationError.ts";
export type { SerializationFailure } from "./serializationError.ts";
export { StratigraphSerializer } from "./stratigraphSerializer.ts";
export type { StratigraphSerializerOptions } from "./serializerOptions.ts";
export type { UnknownClasses } from "./encoder.ts";
export type { UnknownTypes } from "./valueDecoder.ts";
export type { LangGraphClasses } from "./langGraphClasses.ts";
export type { LangChainClasses, LangChainConstructor } from "./langChainClasses.ts";
export type { RegisteredLangChainType, RegisteredType } from "./typeRegistry.ts";
