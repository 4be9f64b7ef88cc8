import type { TierSaver } from "@stratigraph/core";
import { resultNotKept } from "../errors.ts";
import type { CallState } from "../log/calls.ts";
import type { JournalLog } from "../log/journalLog.ts";
import type { Sealing } from "../log/sealing.ts";
import type { KeptResult } from "./results.ts";

/** The longest serialised result that is kept, in bytes. */
const mostBytes = 16 * 1024 * 1024;

/** A serialised result, as it stands beside an entry. */
export interface StoredResult {
  /** The serde's name for the kind of bytes. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Results between memory and the journal. */
export class StoredResults {
  readonly #saver: TierSaver;
  readonly #sealing: Sealing;

  constructor(saver: TierSaver, sealing: Sealing) {
    this.#saver = saver;
    this.#sealing = sealing;
  }

  /** Serialises a result. One that can't be, or is too long, isn't kept: the call happened nevertheless. */
  async stored(result: KeptResult): Promise<{ kept: boolean; hash: string; result?: StoredResult }> {
    try {
      const [type, bytes] = await this.#saver.serde.dumpsTyped(result);
      if (bytes.length <= mostBytes)
        return { kept: true, hash: hashOfResult(this.#sealing, { type, bytes }), result: { type, bytes } };
    } catch {
      // Its hash says that it wasn't kept, and whoever needs it later is told so.
    }
    return { kept: false, hash: "" };
  }

  /** The result of a call that succeeded. @throws StratigraphError "RESULT_NOT_KEPT" */
  async of(log: JournalLog, state: CallState): Promise<KeptResult> {
    const { result } = state;
    const stored =
      result?.kept === true
        ? ((await log.payload(result.seq))?.result as StoredResult | undefined)
        : undefined;
    if (stored === undefined) throw resultNotKept(log.threadId, state);
    return (await this.#saver.serde.loadsTyped(stored.type, stored.bytes)) as KeptResult;
  }
}

/** The hash of a serialised result, as its entry has it. @param keyId as for {@link Sealing.hash} */
export function hashOfResult(sealing: Sealing, { type, bytes }: StoredResult, keyId?: string | null): string {
  return sealing.hash(Buffer.concat([Buffer.from(`${type}\n`), bytes]), keyId);
}
