import { judged } from "../calls/judged.ts";
import type { Policy } from "../options.ts";
import type { Digest } from "../identity/fingerprint.ts";
import type { Recording } from "./recording.ts";

/** How long a policy may take for one call, in milliseconds. */
const judgeMs = 5000;

/** A policy's decision on a recorded call. */
export interface Judgement {
  readonly fingerprint: Digest;
  readonly tool: string;
  /** Undefined if the arguments were erased: the policy isn't asked then. */
  readonly args: unknown;
  /** Number of its first entry. */
  readonly seq: number;
  readonly recorded: "allowed" | "denied";
  /** "unknown" if the arguments were erased. */
  readonly now: "allowed" | "denied" | "asked" | "unknown";
  readonly reason?: string | undefined;
}

/** Asks a policy about every recorded call. */
export async function judgeCalls(recording: Recording, policy: Policy): Promise<readonly Judgement[]> {
  const judgements: Judgement[] = [];
  for (const { state, args: text, seq } of recording.all()) {
    const { call: fingerprint, tool, effects, where, status } = state;
    const recorded = status === "denied" ? ("denied" as const) : ("allowed" as const);
    if (text === undefined) {
      judgements.push({ fingerprint, tool, args: undefined, seq, recorded, now: "unknown" });
      continue;
    }
    const args: unknown = JSON.parse(text);
    const answer = await judged(
      policy,
      { tool, args, effects, threadId: where.thread ?? "", where },
      judgeMs,
    );
    const common = { fingerprint, tool, args, seq, recorded };
    if (answer === true) judgements.push({ ...common, now: "allowed" });
    else if ("deny" in answer) judgements.push({ ...common, now: "denied", reason: answer.deny });
    else judgements.push({ ...common, now: "asked", reason: answer.ask });
  }
  return judgements;
}
