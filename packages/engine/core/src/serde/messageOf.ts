/** The message of an error. Anything else that was thrown is turned into text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
