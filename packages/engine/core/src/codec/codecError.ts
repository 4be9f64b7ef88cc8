/**
 * Why bytes could not be packed, unpacked, sealed or opened.
 *
 * - `corrupt`: the bytes are not what they claim to be (truncated, flipped, not a frame, wrong dictionary)
 * - `too-large`: the bytes declare more than the caller or the format allows; nothing was allocated
 * - `unknown-tag`: the first byte names no codec that this version knows
 * - `unknown-dictionary`: the bytes need a dictionary that this version does not ship
 * - `unsupported`: a valid frame that we never write and refuse to read (no content size, huge window, …)
 * - `bad-argument`: the caller passed something outside the documented limits
 * - `unavailable`: the codec is restarting after a failure of its heap; the same call works a moment later
 * - `unknown-key`: the bytes are sealed with a key id that is not in `keys`
 * - `key-failed`: a key function threw, gave no answer in time, or returned something that is not a 32-byte key
 * - `tampered`: sealed bytes, their address or their key do not belong together
 * - `plaintext-refused`: unsealed bytes while `refusePlaintext` is on
 */
export type CodecErrorReason =
  | "corrupt"
  | "too-large"
  | "unknown-tag"
  | "unknown-dictionary"
  | "unsupported"
  | "bad-argument"
  | "unavailable"
  | "unknown-key"
  | "key-failed"
  | "tampered"
  | "plaintext-refused";

/** The one error of the codec and the cipher. The saver wraps it with thread, checkpoint and channel. */
export class CodecError extends Error {
  override readonly name = "CodecError";
  readonly reason: CodecErrorReason;
  /** The key concerned, if any. */
  readonly keyId: string | undefined;

  constructor(
    reason: CodecErrorReason,
    message: string,
    options: { cause?: unknown; keyId?: string | undefined } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.reason = reason;
    this.keyId = options.keyId;
  }

  /** True for a CodecError of any copy of this package. */
  static is(value: unknown): value is CodecError {
    return value instanceof Error && value.name === "CodecError" && "reason" in value;
  }
}
