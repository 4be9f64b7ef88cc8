import type { PlacedCall } from "../callFront.ts";
import type { CallRequest } from "../calls/resolve.ts";
import { fingerprintOf, fingerprintOfNamed } from "../identity/fingerprint.ts";
import type { Effects } from "../log/entry.ts";
import type { Sealing } from "../log/sealing.ts";
import type { Task } from "./taskConfig.ts";

/**
 * What is decided about a call by: its identity, its arguments' hash, and where it is made.
 * @param journal the thread whose journal it is in
 */
export function requestOf(
  sealing: Sealing,
  journal: string,
  task: Task,
  { tool, version, argsText, place, toolCallId }: PlacedCall,
  effects: Effects = "once",
): CallRequest {
  const args: unknown = JSON.parse(argsText);
  const argsHash = sealing.hash(argsText);
  const otherHashes = sealing.otherHashes(argsText);
  const where = {
    ...task.where,
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(task.threadId === undefined || task.threadId === journal ? {} : { thread: task.threadId }),
  };
  const { previous, nth, isNamed = false } = place;
  return {
    call: isNamed
      ? fingerprintOfNamed(previous, nth, 0)
      : fingerprintOf({ tool, version, args, previous, nth }),
    tool,
    ...(version === null ? {} : { version }),
    effects,
    previous,
    nth,
    ...(isNamed ? { named: true as const } : {}),
    argsHash,
    otherHashes,
    where,
    ...(task.fresh ? { fresh: true } : {}),
  };
}
