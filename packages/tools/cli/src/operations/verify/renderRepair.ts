import { shown } from "../render/columns.ts";
import { findingLines, placeText, plural } from "./renderReport.ts";
import type { RepairOutcome, RepairResult } from "./repairOutcome.ts";

const words: Readonly<Record<RepairResult["outcome"], string>> = {
  would: "WOULD",
  done: "DONE",
  solved: "NO LONGER THERE",
  changed: "LEFT ALONE",
  impossible: "CAN'T",
};

/** Kinds of damage because of which a head may have been moved back. */
const cutOff: ReadonlySet<string> = new Set(["corrupt", "missing-blob"]);

/** The outcomes of findings, for people. */
export function* renderRepair({ dryRun, results, left, cursor }: RepairOutcome): Iterable<string> {
  const count = (outcome: RepairResult["outcome"]): number =>
    results.filter((each) => each.outcome === outcome).length;
  if (results.length === 0) yield "Nothing to repair.";
  else if (dryRun)
    yield `${count("would")} of ${plural(results.length, "finding")} can be mended. Nothing was changed; --apply does it.`;
  else yield `${count("done")} of ${plural(results.length, "finding")} mended.`;
  for (const { finding, outcome, action } of results) {
    yield "";
    yield `${words[outcome]}  ${finding.kind}  ${placeText(finding)}`;
    yield `  ${shown(action)}`;
  }
  if (left.length > 0) {
    yield "";
    yield `Verified again: ${plural(left.length, "finding")} left.`;
    for (const finding of left) yield* findingLines(finding);
    // The damaged checkpoints after a head that was moved back stay, so that a backup can still mend them.
    if (left.some(({ kind }) => cutOff.has(kind)))
      yield "What was cut off stays as a side branch, and is found each time: --prune removes it.";
  } else if (!dryRun && count("done") > 0) {
    yield "";
    yield "Verified again: nothing wrong in these threads.";
  }
  if (cursor !== undefined) yield `Not complete. Go on with --cursor ${cursor}`;
}
