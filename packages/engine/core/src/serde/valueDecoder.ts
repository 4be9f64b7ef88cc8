import type { PathSegment } from "./formatPath.ts";
import type { LangGraphConstructor, LangGraphName } from "./langGraphCopies.ts";
import type { JsonRecord } from "./records.ts";
import type { SerializationFailure } from "./serializationError.ts";
import type { TypeRegistry } from "./typeRegistry.ts";

/** What happens to stored data that names a class this serializer doesn't know. */
export type UnknownTypes = "error" | "inert";

/** What the functions that decode one kind of record need of the {@link Decoder} that calls them. */
export interface ValueDecoder {
  readonly registry: TypeRegistry;
  readonly unknownTypes: UnknownTypes;

  /** Decodes a part of a record. */
  child(value: unknown, segment: PathSegment, depth: number): unknown;

  /** Decodes what an object contains, but not the object itself. */
  fields(record: JsonRecord, depth: number, inKwargs: boolean): JsonRecord;

  /**
   * Makes an instance of one of LangGraph's classes, which must have these parts. Undefined if the class isn't known: the value is
   * then the plain data that an official saver gives LangGraph.
   */
  langGraph<Name extends LangGraphName>(
    name: Name,
    parts: JsonRecord,
    make: (copy: LangGraphConstructor<Name>) => object,
  ): object | undefined;

  /** Throws a {@link SerializationError} about the data at `depth`. */
  fail(
    depth: number,
    found: string,
    hint: string,
    details?: Pick<SerializationFailure, "reason" | "type"> & { readonly cause?: unknown },
  ): never;
}
