import { belongingOf, type Calls } from "./calls.ts";
import { isOpen, type CallState } from "./callState.ts";
import type { FoldedEvent, Payload } from "./entry.ts";
import { packedState } from "./packedState.ts";
import {
  isStored,
  packedLines,
  parsedFold,
  type Fold,
  type FoldLayer,
  type StoredCall,
} from "./storedFold.ts";
import type { Sealing } from "./sealing.ts";

/** After how many entries the state is stored again. */
const entriesPerFold = 64;

/** How many stored states of one level are merged into one of the next level. */
const layersPerLevel = 4;

/** The level whose states aren't merged any more: of some 16,000 entries, or a few megabytes, which an append has to carry. */
const lastLevel = 4;

/** Whether it is time to store the state, so that a process that opens the journal needn't read all of it. */
export function isFoldDue({ seq, foldedAt }: Calls): boolean {
  return seq - foldedAt >= entriesPerFold;
}

/** The layers that stay below the next one, and its level. Enough states of one level are merged into one of the next. */
function nextLayer({ layers }: Calls): { readonly below: readonly FoldLayer[]; readonly level: number } {
  let below = layers;
  let level = 0;
  for (;;) {
    const last = below.slice(1 - layersPerLevel);
    if (
      level === lastLevel ||
      last.length < layersPerLevel - 1 ||
      last.some((layer) => layer.level !== level)
    )
      return { below, level };
    below = below.slice(0, 1 - layersPerLevel);
    level += 1;
  }
}

/** The entry that stores the state. A state is only stored after entries, so the thread of the last ones is known. */
export function foldOf(calls: Calls, sealing: Sealing): { event: FoldedEvent; payload: Payload } {
  const { below, level } = nextLayer(calls);
  const fold = foldedText(calls, below.at(-1)?.seq ?? 0);
  const foldHash = sealing.hash(fold);
  return {
    event: {
      type: "folded",
      level,
      layers: below,
      foldHash,
      ...(sealing.activeKey !== undefined && calls.hasUnsigned ? { unsigned: true } : {}),
      ...belongingOf(calls),
    },
    payload: { fold },
  };
}

/**
 * The state as lines: first a {@link Fold}, then each call that changed since a layer: its fingerprint, a letter, its name if code named
 * it, and its state. The letter marks open calls (o), closed ones (c), and forgotten ones (x).
 */
function foldedText(calls: Calls, since: number): Uint8Array {
  const lines: string[] = [];
  for (const [call, state] of calls.changedSince(since)) {
    if (state === undefined) {
      if (since > 0) lines.push(`${call} x`);
      continue;
    }
    const { isOpen: open, name = "", text } = isStored(state) ? state : storedCall(state);
    lines.push(`${call} ${open ? "o" : "c"} ${name}\t${text}`);
  }
  const visits = Object.fromEntries(calls.visitsSince(since));
  const sessions = [...calls.sessionsSince(since)].map(
    ([id, { machine, pid }]) => [id, [machine, pid]] as const,
  );
  const fold: Fold = { cutUpTo: calls.cutUpTo, sessions, visits };
  return packedLines([JSON.stringify(fold), ...lines]);
}

/** Whether the stored state is the fold of the entries. @param since number of the layer below */
export function isFoldOf(bytes: Uint8Array, calls: Calls, since: number): boolean {
  const left = new Set<string>();
  for (const [call, state] of calls.changedSince(since)) if (state !== undefined) left.add(call);
  for (const stored of parsedFold(bytes).calls) {
    const state = calls.get(stored.call);
    if (!isStored(stored)) {
      if (state !== undefined) return false;
      continue;
    }
    const own = state && storedCall(state);
    if (own?.text !== stored.text || own.name !== stored.name || own.isOpen !== stored.isOpen) return false;
    left.delete(stored.call);
  }
  return left.size === 0;
}

function storedCall(state: CallState): StoredCall {
  const { call, named, previous } = state;
  return {
    call,
    name: named === true ? previous : undefined,
    isOpen: isOpen(state),
    text: packedState(state),
  };
}
