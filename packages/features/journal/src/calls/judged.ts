import type { Duration } from "@stratigraph/core";
import { answerWithin, waitMsOf } from "@stratigraph/core/internal";
import { keptError, tookLonger } from "../errors.ts";
import type { Policy, PolicyCall } from "../options.ts";

/** The policy's answer. Errors, timeouts and invalid answers deny. */
export async function judged(
  policy: Policy,
  call: PolicyCall,
  timeoutMs: number,
): Promise<true | { deny: string } | { ask: string; validForMs?: number | undefined }> {
  try {
    const answer: unknown = await answerWithin(
      timeoutMs,
      async () => await policy(call),
      () => tookLonger(timeoutMs),
    );
    if (answer === true) return true;
    if (answer === false) return { deny: "the policy doesn't allow it" };
    const { deny, ask, validFor } = Object(answer) as { deny?: unknown; ask?: unknown; validFor?: Duration };
    if (typeof deny === "string") return { deny };
    if (typeof ask === "string")
      return { ask, validForMs: validFor === undefined ? undefined : waitMsOf("validFor", validFor) };
    return { deny: "the policy's answer isn't a valid one: true, false, { deny } or { ask }" };
  } catch (error) {
    return { deny: `the policy failed: ${told(error)}` };
  }
}

/** An error's message, with that of its cause: the cause is the only place where `fetch` says why it failed. */
function told(error: unknown): string {
  const { cause } = Object(error) as { cause?: unknown };
  const { message } = keptError(error);
  if (cause === undefined) return message;
  const { code } = Object(cause) as { code?: unknown };
  return `${message} (${keptError(cause).message || String(code)})`;
}

/** Freezes JSON and everything in it, so that a policy can't change what runs. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const field of Object.values(value)) frozen(field);
  return Object.freeze(value);
}
