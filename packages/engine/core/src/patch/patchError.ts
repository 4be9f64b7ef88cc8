/**
 * Thrown when the bytes of a patch are malformed, or when a patch does not fit the bytes it is applied to.
 * Its message says only what was wrong with the patch; the caller adds thread, checkpoint and channel.
 */
export class PatchError extends Error {
  override readonly name = "PatchError";
}
