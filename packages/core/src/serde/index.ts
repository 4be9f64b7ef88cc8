export { SerializationError } from "./SerializationError.ts";
export type { SerializationFailure } from "./SerializationError.ts";
export { StratigraphSerializer } from "./StratigraphSerializer.ts";
export type { StratigraphSerializerOptions } from "./StratigraphSerializer.ts";
export type { UnknownClasses } from "./Encoder.ts";
export type { UnknownTypes } from "./Decoder.ts";
export type { LangGraphClasses } from "./langgraphClasses.ts";
export type { LangChainClasses, LangChainConstructor } from "./langchainClasses.ts";
export type { RegisteredLangChainType, RegisteredType } from "./TypeRegistry.ts";
