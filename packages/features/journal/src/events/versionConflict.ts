import { StratigraphError } from "@stratigraph/core";

/** The thread has more or fewer events than the caller assumed. Nothing was written. */
export class VersionConflictError extends StratigraphError {
  constructor(threadId: string, expected: number, version: number) {
    super(
      "VERSION_CONFLICT",
      `An event was to follow version ${expected} of thread ${JSON.stringify(threadId)}, which is at version ${version}. Nothing was ` +
        `appended. Project the state and decide again.`,
      { threadId, expected, version },
    );
    this.name = "VersionConflictError";
  }
}
