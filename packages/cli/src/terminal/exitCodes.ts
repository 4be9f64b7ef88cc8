/** What a process of the command line ends with. */
export const exitCodes = {
  /** Done, and nothing found that somebody has to look at. */
  done: 0,
  /** It failed, or was called wrongly. */
  failed: 1,
  /** It ran well and found something: differences, damage, conflicts. */
  found: 2,
  /** Interrupted by a person; it can go on from where it was. */
  interrupted: 130,
} as const;

/** One of {@link exitCodes}. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
