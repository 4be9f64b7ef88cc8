import type { TierSaver } from "@stratigraph/core";
import { journalBroken, keptError } from "../errors.ts";
import type { Calls } from "../log/calls.ts";
import type { CallState } from "../log/callState.ts";
import type { JournalLog } from "../log/journalLog.ts";
import type { Sealing } from "../log/sealing.ts";
import type { KeptResult } from "./results.ts";

/** The longest serialised result that is kept, in bytes. */
const mostBytes = 16 * 1024 * 1024;

/** A serialised result, as stored with an entry. */
export interface StoredResult {
  /** The serde's name for the kind of bytes. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A result to store with an entry, and what its event says of it. */
export interface ResultToStore {
  readonly fields: { readonly resultHash: string; readonly kept: boolean; readonly notKept?: string };
  readonly result?: StoredResult;
}

function notKept(why: string): ResultToStore {
  return { fields: { resultHash: "", kept: false, notKept: why } };
}

/** Why a call that happened has no result: it wasn't kept, or isn't there any more. */
export function whyNoResult(
  { result }: Pick<CallState, "result">,
  { cutUpTo }: Pick<Calls, "cutUpTo">,
): string {
  if (result?.kept !== true) return result?.notKept ?? "it couldn't be kept";
  return result.seq <= cutUpTo ? "it was cut off with the oldest entries" : "it was erased";
}

/** Converts results between memory and the journal. */
export class StoredResults {
  readonly #saver: TierSaver;
  readonly #sealing: Sealing;

  constructor(saver: TierSaver, sealing: Sealing) {
    this.#saver = saver;
    this.#sealing = sealing;
  }

  /** Serialises a result. If it can't be taken apart or serialised, or is too long, it isn't kept: the call happened nevertheless. */
  async stored(make: () => KeptResult): Promise<ResultToStore> {
    try {
      const [type, bytes] = await this.#saver.serde.dumpsTyped(make());
      const result = { type, bytes };
      if (bytes.length <= mostBytes)
        return { fields: { resultHash: hashOfResult(this.#sealing, result), kept: true }, result };
      return notKept(`it takes ${bytes.length} bytes, and at most ${mostBytes} are kept`);
    } catch (error) {
      return notKept(keptError(error).message);
    }
  }

  /** The result of a call that succeeded; undefined if it is missing. @throws StratigraphError "JOURNAL_BROKEN" if it is another one */
  async of(log: JournalLog, state: CallState): Promise<KeptResult | undefined> {
    const { call, result } = state;
    const stored =
      result?.kept === true
        ? ((await log.payload(result.seq, call))?.result as StoredResult | undefined)
        : undefined;
    if (stored === undefined) return undefined;
    if (!this.#sealing.isHashOf(result!.hash, contentOf(stored)))
      throw journalBroken(log.threadId, result!.seq, "the result beside it isn't the one that was recorded");
    return (await this.#saver.serde.loadsTyped(stored.type, stored.bytes)) as KeptResult;
  }
}

/** The hash of a serialised result, as in its entry. @param keyId as for {@link Sealing.hash} */
export function hashOfResult(sealing: Sealing, result: StoredResult, keyId?: string | null): string {
  return sealing.hash(contentOf(result), keyId);
}

/** The part of a result that is hashed. */
function contentOf({ type, bytes }: StoredResult): Uint8Array {
  return Buffer.concat([Buffer.from(`${type}\n`), bytes]);
}
