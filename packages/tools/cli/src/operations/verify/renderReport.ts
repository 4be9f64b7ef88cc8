import { shown } from "../render/columns.ts";
import { bytesText } from "../render/units.ts";
import type { Finding, Report } from "./report.ts";
import { kinds } from "./suspicion.ts";

/** A report for people: the totals, then each finding with its meaning, worst first. */
export function* renderReport(report: Report): Iterable<string> {
  const { totals, findings, leftOut, unsettled, unreachable, cursor } = report;
  const { threads, checkpoints, blobs, bytes, seconds } = totals;
  const all = Object.values(totals.findings).reduce((sum, count) => sum + count, 0);
  const verdict = all === 0 ? "Nothing wrong." : `${plural(all, "finding")}: ${countsText(report)}.`;
  yield verdict;
  yield (
    `Verified ${plural(threads, "thread")}, ${plural(checkpoints, "checkpoint")}, ${plural(blobs, "blob")}, ${bytesText(bytes)} ` +
      `in ${seconds.toFixed(1)} s, in ${report.tiers.map(({ tier, role }) => `${shown(tier)} (${role})`).join(", ")}.`
  );
  if (unreachable.length > 0) yield `Not reached, and so not verified: ${unreachable.map(shown).join(", ")}.`;
  if (unsettled > 0)
    yield `${plural(unsettled, "thread")} changed each time something was looked at again; verify ${unsettled === 1 ? "it" : "them"} when idle.`;
  for (const severity of ["error", "warning", "info"] as const)
    for (const finding of findings)
      if (finding.severity === severity) {
        yield "";
        yield* findingLines(finding);
      }
  if (all > 0) yield "";
  if (leftOut > 0) yield `${plural(leftOut, "more finding")}, not listed: raise --keep.`;
  if (all > 0) yield "stratigraph repair tells what can be done about it, and does it with --apply.";
  if (cursor !== undefined) yield `Not complete. Go on with --cursor ${cursor}`;
}

/** A finding in two to four lines. */
export function* findingLines(finding: Finding): Iterable<string> {
  const { severity, kind, meaning, detail, goodIn, concerns } = finding;
  yield `${severity.toUpperCase()}  ${kind}  ${placeText(finding)}`;
  yield `  ${shown(meaning)}`;
  if (detail !== undefined) yield `  ${shown(detail)}`;
  const more: string[] = [];
  if (concerns > 1) more.push(`Concerns ${plural(concerns, "checkpoint")}.`);
  if (goodIn.length > 0) more.push(`Good bytes in: ${goodIn.map(shown).join(", ")}.`);
  if (more.length > 0) yield `  ${more.join(" ")}`;
}

/** Where something was found, in one line. */
export function placeText({ thread, namespace, checkpoint, hash, tier }: Finding): string {
  return [
    thread === undefined ? "of an unknown thread" : `thread ${shown(thread)}`,
    ...(namespace === "" ? [] : [`namespace ${shown(namespace)}`]),
    ...(checkpoint === undefined ? [] : [`checkpoint ${shown(checkpoint)}`]),
    ...(hash === undefined ? [] : [`blob ${hash.slice(0, 12)}`]),
    `in ${shown(tier)}`,
  ].join(", ");
}

/** "1 thread", "2 threads". */
export function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function countsText({ totals }: Report): string {
  return kinds
    .flatMap((kind) => ((totals.findings[kind] ?? 0) === 0 ? [] : [`${totals.findings[kind]} ${kind}`]))
    .join(", ");
}
