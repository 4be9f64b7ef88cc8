import type { PathSegment } from "./formatPath.ts";
import type { TypeRegistry } from "./typeRegistry.ts";

/** What the functions that encode one kind of object need of the {@link Encoder} that calls them. */
export interface ValueEncoder {
  readonly registry: TypeRegistry;
  /** Where in the value the encoder is: one segment for each level above the present depth. */
  readonly path: PathSegment[];

  /** Encodes a part of the value at `depth`. */
  child(value: unknown, segment: PathSegment, depth: number, inKwargs?: boolean): unknown;

  /** Goes one level down if there is no value to encode, such as to an entry of a Map. */
  step(segment: PathSegment, depth: number): void;

  /** `inKwargs`: inside the arguments of a LangChain object, where LangChain has escaping rules of its own. */
  encode(value: unknown, depth: number, inKwargs: boolean): unknown;

  /** Throws a {@link SerializationError} about the value at `depth`. */
  fail(depth: number, found: string, hint: string, cause?: unknown): never;
}
