import type { TierSaver } from "@stratigraph/core";
import type { ManifestEntry } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import { ancestry } from "./ancestry.ts";

/** Where a value last changed. */
export interface LastChange {
  /** The oldest checkpoint since which the value is the same. */
  readonly changed: string;
  /** Its parent, where the value was different; undefined if there is none. */
  readonly before: string | undefined;
  /** False if older checkpoints were removed. */
  readonly complete: boolean;
  /** How many checkpoints were searched, and how many versions of the channel they had. */
  readonly checkpoints: number;
  readonly versions: number;
}

/** Neighbouring checkpoints in which a channel has the same value, according to their manifests. */
interface Run {
  readonly newest: string;
  oldest: string;
}

/**
 * Searches the ancestors of a checkpoint for the last change of a value. Goes through manifests, which show where the whole channel
 * didn't change, and reads few of the versions: in steps that double until the value differs, then by bisection. So a value that
 * changed and changed back between two versions that are read counts as unchanged.
 * @param how.same whether a checkpoint has the same value
 * @param how.exact whether to read every version
 */
export async function lastChange(
  saver: TierSaver,
  at: Address,
  how: {
    readonly channel: string;
    readonly same: (at: Address) => Promise<boolean>;
    readonly exact: boolean;
    readonly signal: AbortSignal;
  },
): Promise<LastChange> {
  const runs: Run[] = [];
  const isSame = (n: number): Promise<boolean> => how.same({ ...at, checkpointId: runs[n]!.newest });
  let [checkpoints, same, different] = [0, 0, -1];
  let missing = false;
  let last: string | undefined;
  for await (const { record, body, parentMissing } of ancestry(saver, at)) {
    how.signal.throwIfAborted();
    checkpoints += 1;
    missing = parentMissing;
    const key = keyOf(body.manifest.get(how.channel));
    if (key === last) {
      runs.at(-1)!.oldest = record.checkpointId;
      continue;
    }
    last = key;
    const n = runs.push({ newest: record.checkpointId, oldest: record.checkpointId }) - 1;
    if (n === 0 || n < (how.exact ? same + 1 : same * 2)) continue;
    if (await isSame(n)) same = n;
    else {
      different = n;
      break;
    }
  }
  const end = runs.length - 1;
  if (different === -1 && same < end) {
    if (await isSame(end)) same = end;
    else different = end;
  }
  while (different - same > 1) {
    const middle = (same + different) >> 1;
    if (await isSame(middle)) same = middle;
    else different = middle;
  }
  return {
    changed: runs[same]!.oldest,
    before: different === -1 ? undefined : runs[different]!.newest,
    complete: different !== -1 || !missing,
    checkpoints,
    versions: runs.length,
  };
}

/** Equal if two checkpoints have the same value. A DeltaChannel without a value has a version for each change. */
function keyOf(entry: ManifestEntry | undefined): string {
  const value = entry?.value;
  if (value === undefined) return `version ${JSON.stringify(entry?.version)}`;
  return "hash" in value ? value.hash : `${value.type} ${Buffer.from(value.bytes).toString("base64")}`;
}
