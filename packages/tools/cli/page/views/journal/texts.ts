import type { OutputOf } from "../../../src/operations/index.ts";
import type { Tone } from "../../design/Pill.tsx";
import { countText } from "../../design/units.ts";

export type Call = OutputOf<"calls">["items"][number];
export type OpenQuestion = OutputOf<"questions">["items"][number];
export type Audit = OutputOf<"audit">;

const statuses: Readonly<Record<Call["status"], readonly [label: string, tone: Tone, title: string]>> = {
  succeeded: ["Succeeded", "green", "It happened, and its result is recorded"],
  failed: ["Failed", "red", "It certainly changed nothing"],
  denied: ["Denied", "red", "The policy or a person refused it"],
  unresolved: ["Unresolved", "amber", "Nobody knows whether it happened"],
  running: ["Running", "blue", "A living process is making it"],
  claimed: ["Begun", "amber", "From here nobody can tell whether its process is alive"],
  waiting: ["Waiting", "amber", "It waits for an answer, or hasn't begun"],
  repeats: ["Repetition", "neutral", "It counts as a repetition of another call"],
};

/** The status of a call, as a pill shows it. */
export function statusOf(status: Call["status"]): { label: string; tone: Tone; title: string } {
  const [label, tone, title] = statuses[status];
  return { label, tone, title };
}

/** The statuses that calls can be filtered by, for a select. */
export const statusOptions = [
  { value: "", label: "Any status" },
  ...Object.entries(statuses).map(([value, [label]]) => ({ value, label })),
];

/** The colour of an entry's mark in the timeline. */
export function entryTone(type: string): Tone {
  if (["succeeded", "read", "approved"].includes(type)) return "green";
  if (["failed", "denied"].includes(type)) return "red";
  if (["unknown", "late", "forgotten"].includes(type)) return "amber";
  if (["resolved", "returned", "repeats"].includes(type)) return "violet";
  return "neutral";
}

/** The result of an audit as a badge; undefined before the first audit. */
export function badgeOf(audit: Audit | undefined): { text: string; tone: Tone } | undefined {
  if (audit === undefined) return undefined;
  const count = audit.entries === 1 ? "1 entry" : `${countText(audit.entries)} entries`;
  switch (audit.status) {
    case "verified":
      return { text: `Chain verified, ${count}`, tone: "green" };
    case "broken":
      return { text: `Chain broken at entry ${audit.brokenAt ?? "?"}`, tone: "red" };
    case "unproven":
      return { text: `Not verified: key ${audit.missing.join(", ")} is missing`, tone: "amber" };
    case "empty":
      return { text: "No journal", tone: "neutral" };
  }
}

/** A length of time: "3 ms", "1.2 s", "4 min". */
export function tookText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** The possible answers to a question. */
export function answersTo({ kind, happened }: Pick<OpenQuestion, "kind" | "happened">) {
  const answers =
    kind === "approval"
      ? ([
          { value: "allow", label: "Allow", hint: "The call runs once." },
          { value: "deny", label: "Deny", hint: "The call doesn’t run, and the model is told why." },
        ] as const)
      : ([
          {
            value: "happened",
            label: "It happened",
            hint: "It isn’t made again: the agent gets the result below.",
          },
          {
            value: "not-happened",
            label: "It didn’t happen",
            hint: "It runs again, with the same idempotency key.",
          },
        ] as const);
  return happened === true ? answers.slice(0, 1) : answers;
}

/** What a question asks. */
export function asksFor({ kind, happened }: Pick<OpenQuestion, "kind" | "happened">, tool: string): string {
  if (kind === "approval") return `May ${tool} run?`;
  return happened === true ? `What was the result of ${tool}?` : `Did ${tool} happen?`;
}

export type Answer = "allow" | "deny" | "happened" | "not-happened";

/** The error in a typed result; undefined if it is JSON or empty. */
export function resultError(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return 'This isn’t JSON. Write a text in quotes: "receipt 7".';
  }
}
