import type { TierSaver } from "@stratigraph/core";
import type { CheckpointRecord } from "@stratigraph/core/tier";
import { journalBroken } from "../errors.ts";
import { Calls } from "./calls.ts";
import { checkEntry } from "./checkEntry.ts";
import type { Entry, FoldedEvent } from "./entry.ts";
import { decodeEntry, decodePayload, journalNamespace } from "./records.ts";
import type { Sealing } from "./sealing.ts";
import type { FoldLayer } from "./storedFold.ts";

/** An entry with which the state is stored. */
type FoldedEntry = Entry & { readonly event: FoldedEvent };

function isFolded(entry: Entry): entry is FoldedEntry {
  return entry.event.type === "folded";
}

interface Layer {
  readonly seq: number;
  readonly bytes: Uint8Array;
}

/**
 * The state up to and including a "folded" entry, loaded from the values that are stored with that entry and with the earlier folded
 * entries that it builds on. Undefined for any other entry, and if a part is gone: then the entries have to be read.
 * @throws StratigraphError "JOURNAL_BROKEN" if a stored state was changed; "KEY_MISSING"
 */
export async function storedState(
  saver: TierSaver,
  sealing: Sealing,
  entry: Entry,
  record: CheckpointRecord,
): Promise<Calls | undefined> {
  // If there are keys, an unsigned entry proves nothing, so it isn't used: the caller reads the entries before it instead, and checks
  // whether unsigned ones are allowed.
  if (!isFolded(entry) || (entry.keyId === undefined && sealing.activeKey !== undefined)) return undefined;
  const { threadId } = record;
  if (entry.event.unsigned === true && !sealing.takesUnsigned) return undefined;
  checkEntry(threadId, sealing, entry, false);
  const own = { seq: entry.seq, hash: entry.hash, record: record.checkpointId };
  const layers = await Promise.all(
    [...entry.event.layers, own].map(async (layer) => await layerAt(saver, sealing, threadId, layer)),
  );
  const calls = new Calls();
  for (const layer of layers) {
    if (layer === undefined) return undefined;
    calls.load(layer.seq, layer.bytes);
  }
  calls.fold(entry, record.checkpointId);
  return calls;
}

/** The state stored with an entry of the type "folded"; undefined if it is gone. */
async function layerAt(
  saver: TierSaver,
  sealing: Sealing,
  threadId: string,
  { seq, hash, record }: Omit<FoldLayer, "level">,
): Promise<Layer | undefined> {
  const at = { threadId, namespace: journalNamespace, checkpointId: record };
  const { checkpoint } = await saver.tier.read(at);
  if (checkpoint === undefined) return undefined;
  const entry = await decodeEntry(saver, checkpoint.record);
  if (entry.seq !== seq || entry.hash !== hash || !isFolded(entry) || !sealing.isIntact(entry))
    throw journalBroken(threadId, seq, "it isn't the one that a later entry names");
  const { fold: bytes } = await decodePayload(saver, checkpoint);
  if (bytes === undefined) return undefined;
  if (sealing.hash(bytes, entry.keyId ?? null) !== entry.event.foldHash)
    throw journalBroken(threadId, seq, "the state beside it isn't the one that was stored");
  return { seq, bytes };
}
