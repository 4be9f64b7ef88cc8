import { StratigraphError } from "@stratigraph/core";
import type { Calls } from "./calls.ts";
import type { KnownBy } from "./entry.ts";
import type { Sealing } from "./sealing.ts";

/** The key with which a journal's fingerprints are hashed: that of its first entry, or the one with which this process would begin it. */
export function knownByOf({ knownBy }: Calls, { activeKey }: Sealing): KnownBy {
  return knownBy === undefined ? (activeKey ?? null) : knownBy;
}

/** Another process began the journal meanwhile, with another key: the call is looked up again. */
export class KnownByAnother extends StratigraphError {
  constructor(threadId: string) {
    super(
      "OVERLOADED",
      `The journal of thread ${JSON.stringify(threadId)} was deleted and begun anew by another key again and again. Let all processes name the same sign.activeKey.`,
      { threadId },
    );
  }
}

/**
 * Must be called when something is decided about a call.
 * @param knownBy the key with which it was looked up; undefined for the journal's own calls, whose fingerprints are never keyed
 * @throws KnownByAnother
 */
export function checkKnownBy(threadId: string, calls: Calls, knownBy: KnownBy | undefined): void {
  if (knownBy === undefined || calls.knownBy === undefined || calls.knownBy === knownBy) return;
  throw new KnownByAnother(threadId);
}
