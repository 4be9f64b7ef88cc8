import type { OutputOf, Progress } from "../../../src/operations/index.ts";
import type { Tone } from "../../design/Pill.tsx";
import { countText } from "../../design/units.ts";

export type Report = OutputOf<"verify">;
export type Finding = Report["findings"][number];
export type Result = OutputOf<"repair">["results"][number];

const ranks: readonly Finding["severity"][] = ["error", "warning", "info"];

/** Findings, the most severe first; those of the same severity sorted by thread. */
export function sorted(findings: readonly Finding[]): Finding[] {
  return findings.toSorted(
    (a, b) =>
      ranks.indexOf(a.severity) - ranks.indexOf(b.severity) || (a.thread ?? "").localeCompare(b.thread ?? ""),
  );
}

export const severityTone: Readonly<Record<Finding["severity"], Tone>> = {
  error: "red",
  warning: "amber",
  info: "blue",
};

export const outcomeTone: Readonly<Record<Result["outcome"], Tone>> = {
  would: "blue",
  done: "green",
  solved: "neutral",
  changed: "amber",
  impossible: "red",
};

/** The result of a report in one sentence. */
export function verdict({ findings, leftOut, complete, unsettled }: Report): { text: string; tone: Tone } {
  const count = (wanted: Finding["severity"]) =>
    findings.filter(({ severity }) => severity === wanted).length;
  const [errors, warnings, infos] = [count("error"), count("warning"), count("info")];
  const partly = complete ? "" : " It didn’t look at everything.";
  if (errors + warnings + infos + leftOut === 0)
    return {
      text: `Everything is there, whole and in order.${unsettled === 0 ? "" : ` ${countText(unsettled)} threads were written to each time they were looked at.`}${partly}`,
      tone: complete ? "green" : "amber",
    };
  const parts = [
    errors === 0 ? "" : `${countText(errors)} damaged`,
    warnings === 0 ? "" : `${countText(warnings)} to look at`,
    infos === 0 ? "" : `${countText(infos)} only take room`,
    leftOut === 0 ? "" : `${countText(leftOut)} more`,
  ];
  return {
    text: `${parts.filter((part) => part !== "").join(", ")}.${partly}`,
    tone: errors > 0 ? "red" : warnings + leftOut > 0 ? "amber" : "blue",
  };
}

/** The progress as text: "1,204 of 9,000 threads". */
export function progressText({ done, total, unit }: Progress): string {
  return total === undefined
    ? `${countText(done)} ${unit}`
    : `${countText(done)} of ${countText(total)} ${unit}`;
}

/** A key that identifies a finding. */
export function keyOf({
  kind,
  tier,
  part,
  thread,
  namespace,
  checkpoint,
  channel,
  hash,
  batch,
}: Finding): string {
  return JSON.stringify([kind, tier, part, thread, namespace, checkpoint, channel, hash, batch]);
}
