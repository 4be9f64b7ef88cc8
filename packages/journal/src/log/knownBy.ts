import { StratigraphError } from "@stratigraph/core";
import type { Calls } from "./calls.ts";
import type { KnownBy } from "./entry.ts";
import type { Sealing } from "./sealing.ts";

/** By which key the calls of a journal are known: that of its first entry, or the one that this process would begin it with. */
export function knownByOf({ knownBy }: Calls, { activeKey }: Sealing): KnownBy {
  return knownBy === undefined ? (activeKey ?? null) : knownBy;
}

/** Another process began the journal meanwhile, by another key: the call is looked for again. */
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
 * Has to be asked when something is decided about a call.
 * @param knownBy by which key it was looked for; undefined for the journal's own calls, whose fingerprints are never keyed
 * @throws KnownByAnother
 */
export function checkKnownBy(threadId: string, calls: Calls, knownBy: KnownBy | undefined): void {
  if (knownBy === undefined || calls.knownBy === undefined || calls.knownBy === knownBy) return;
  throw new KnownByAnother(threadId);
}
