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
      args.push(encodeBody(note, value), encodeVectors(change.vectors));
    }
  }
  return args;
}

/** A body as lua/space.lua describes it, without the time of its item. */
export function encodeBody(note: Uint8Array | undefined, value: Uint8Array | undefined): Buffer {
  const front = encodeStrings([optional(note === undefined ? undefined : asBuffer(note))]);
  return value === undefined ? front : Buffer.concat([front, value]);
}
