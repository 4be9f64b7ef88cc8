/** What went wrong, in a form that code can act on. */
export interface SerializationFailure {
  /** Where in the value, such as `messages[3].additional_kwargs.cb`; `""` is the value itself. */
  readonly path: string;
  /** What was found there, such as `a function` or `an instance of Foo`. */
  readonly found: string;
  /** What the caller can do about it, one sentence. */
  readonly hint: string;
  /** Whether the value was being written or read. */
  readonly action: "serialise" | "read back";
}

/** A value that can't be kept faithfully, or bytes that are not what this serializer writes. */
export class SerializationError extends Error {
  override readonly name = "SerializationError";
  readonly code = "SERIALIZATION";
  /** Where in the value; `""` is the value itself. */
  readonly path: string;
  /** What was found there. */
  readonly found: string;

  constructor(failure: SerializationFailure, options?: ErrorOptions) {
    const where = failure.path === "" ? "the value" : failure.path;
    super(`Cannot ${failure.action} ${where}: found ${failure.found}. ${failure.hint}`, options);
    this.path = failure.path;
    this.found = failure.found;
  }
}
