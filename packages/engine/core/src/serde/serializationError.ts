/**
 * The kind of failure:
 * - `value`: this serializer can't keep the value, or can't read the data
 * - `unregistered-type`: stored data names a class that isn't registered
 * - `newer-format`: stored data has a record that this version doesn't know
 */
export type SerializationReason = "value" | "unregistered-type" | "newer-format";

/** The details of a {@link SerializationError}, for code to act on. */
export interface SerializationFailure {
  /** Where in the value, such as `messages[3].additional_kwargs.cb`; `""` is the value itself. */
  readonly path: string;
  /** What was found there, such as `a function` or `an instance of Foo`. */
  readonly found: string;
  /** What the caller can do about it, one sentence. */
  readonly hint: string;
  /** Whether the value was being written or read. */
  readonly action: "serialise" | "read back";
  /** Default "value". */
  readonly reason?: SerializationReason;
  /** Name of the class concerned, if any. */
  readonly type?: string | undefined;
}

/** A value that can't be kept faithfully, or bytes that are not what this serializer writes. */
export class SerializationError extends Error {
  override readonly name = "SerializationError";
  readonly code = "SERIALIZATION";
  /** Where in the value; `""` is the value itself. */
  readonly path: string;
  /** What was found there. */
  readonly found: string;
  readonly reason: SerializationReason;
  /** Name of the class that isn't registered. */
  readonly type: string | undefined;

  constructor(failure: SerializationFailure, options?: ErrorOptions) {
    const where = failure.path === "" ? "the value" : failure.path;
    super(`Cannot ${failure.action} ${where}: found ${failure.found}. ${failure.hint}`, options);
    this.path = failure.path;
    this.found = failure.found;
    this.reason = failure.reason ?? "value";
    this.type = failure.type;
  }

  /** Whether `error` is one of these; works across copies of this package. */
  static is(error: unknown): error is SerializationError {
    return error instanceof Error && error.name === "SerializationError" && "reason" in error;
  }
}
