import type { Commit } from "@stratigraph/core/tier";
import type { Bytes } from "../checkpointKeys.ts";
import { asBuffer, optional } from "../fieldValues.ts";
import { encodeStrings } from "../lengthPrefixed.ts";
import { encodeAddress } from "./itemAddress.ts";
import { encodeVectors } from "./vectors.ts";

/** Arguments of commit.lua. */
export function commitArgs(commits: readonly Commit[], isRepeat: boolean): (Bytes | number)[] {
  const args: (Bytes | number)[] = [isRepeat ? 1 : 0, commits.length];
  for (const { id, checks, changes } of commits) {
    args.push(id, checks.length);
    for (const check of checks) args.push(encodeAddress(check), check.version);
    args.push(changes.length);
    for (const change of changes) {
      const { note, value, ttlMs } = change;
      const { as = value === undefined ? "delete" : "put" } = change;
      args.push(as === "message" && value === undefined ? "note" : as, encodeAddress(change));
      args.push(ttlMs === undefined ? "" : Math.ceil(ttlMs), note === undefined ? 0 : 1);
      const front = encodeStrings([optional(note === undefined ? undefined : asBuffer(note))]);
      args.push(value === undefined ? front : Buffer.concat([front, value]), encodeVectors(change.vectors));
    }
  }
  return args;
}
