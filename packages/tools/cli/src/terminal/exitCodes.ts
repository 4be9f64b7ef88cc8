/** Exit codes of the command line. */
export const exitCodes = {
  /** Done, and found nothing that somebody has to look at. */
  done: 0,
  /** It failed, or was called wrongly. */
  failed: 1,
  /** It ran well and found something: differences, damage, conflicts. */
  found: 2,
  /** Interrupted by a person; it can continue from where it stopped. */
  interrupted: 130,
} as const;

/** One of {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
