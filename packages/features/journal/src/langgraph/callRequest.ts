import type { PlacedCall } from "../callFront.ts";
import type { CallRequest } from "../calls/resolve.ts";
import { fingerprintOf, fingerprintOfNamed } from "../identity/fingerprint.ts";
import type { Effects, KnownBy } from "../log/entry.ts";
import type { Sealing } from "../log/sealing.ts";
import type { Task } from "./taskConfig.ts";

/**
 * The data by which a call is decided: its identity, its arguments' hash, and where it is made.
 * @param journal the thread that has the journal
 * @param knownBy the key with which the journal's fingerprints are hashed
 */
export function requestOf(
  sealing: Sealing,
  journal: string,
  task: Task,
  { tool, version, argsText, place, toolCallId, former }: PlacedCall,
  knownBy: KnownBy,
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
  const { previous: plain, nth, isNamed = false, ofMessage, formerly } = place;
  const known = (digest: string): string => sealing.known(digest, knownBy);
  const previous = known(plain);
  return {
    call: isNamed
      ? fingerprintOfNamed(previous, nth, 0)
      : known(fingerprintOf({ tool, version, args, previous: plain, nth })),
    tool,
    ...(version === null ? {} : { version }),
    effects,
    previous,
    nth,
    ...(isNamed ? { named: true as const } : {}),
    argsHash,
    otherHashes,
    where,
    knownBy,
    former: former && { ...former, previous: formerly?.map((each) => each.map(known)) },
    ofMessage: ofMessage && (() => ofMessage().map(known)),
    ...(task.fresh ? { fresh: true } : {}),
  };
}
