import { StratigraphError } from "../contract/errors.ts";
import type { Address } from "../contract/tier.ts";
import { messageOf } from "../serde/messageOf.ts";

function placeOf({ threadId, namespace, checkpointId }: Address): string {
  return `Thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}, checkpoint ${checkpointId}`;
}

function dataOf({ threadId, namespace, checkpointId }: Address): Record<string, unknown> {
  return { threadId, namespace, checkpointId };
}

/** State of a version that this application can't read. `data`: threadId, namespace, checkpointId, found, current. */
export function unknownVersion(
  at: Address,
  found: number,
  current: number,
  missing: number,
): StratigraphError {
  const what = `${placeOf(at)}: its state was written under version ${found}, and this application is at version ${current}`;
  const advice =
    found > current
      ? `It has no way down from version ${missing}. Run the newer application, or give this one the step to ${missing} with its down, in stateVersions.`
      : `It has no step to version ${missing}. Add it to stateVersions.`;
  return new StratigraphError("STATE_VERSION", `${what}. ${advice} Nothing was changed.`, {
    ...dataOf(at),
    found,
    current,
  });
}

/** A DeltaChannel that is joined of channels whose values are stored by different checkpoints. `data` as of {@link stepFailed}. */
export function cannotRebuild(
  at: Address,
  channel: string,
  versions: { readonly from: number; readonly to: number },
): StratigraphError {
  const what =
    "only some of the DeltaChannels that it is joined of have their values here, so it can't be rebuilt from their writes";
  return stepFailed(at, channel, versions, what);
}

/** A step that threw, or made what can't be stored. `data`: threadId, namespace, checkpointId, channel, from, to. */
export function stepFailed(
  at: Address,
  channel: string,
  { from, to }: { readonly from: number; readonly to: number },
  what: string,
  cause?: unknown,
): StratigraphError {
  const why = cause === undefined ? what : `${what}: ${messageOf(cause)}`;
  return new StratigraphError(
    "STATE_STEP_FAILED",
    `${placeOf(at)}, channel ${JSON.stringify(channel)}: the step of stateVersions from version ${from} to ${to} failed, as ${why.replace(/\.$/, "")}. ` +
      `Nothing was changed. Mend the step and repeat.`,
    { ...dataOf(at), channel, from, to },
    cause,
  );
}
