import { exitCodes } from "./exitCodes.ts";

/** How long storages may take to be closed when a server ends, in milliseconds. */
const closeMs = 10_000;

/** Ends the process if closing takes too long: a storage that doesn't answer must not keep it alive. @returns takes that back */
export function lastResort(): () => void {
  const timer = setTimeout(() => process.exit(exitCodes.done), closeMs).unref();
  return () => clearTimeout(timer);
}
