import type { TierSaver } from "@stratigraph/core";
import { decodeCursor, encodeCursor, findsLeftovers } from "@stratigraph/core/internal";
import type { Leftover, LeftoverFinder } from "@stratigraph/core/tier";
import type { Context } from "../table/context.ts";
import { objectAdvice, remedyFor } from "./mend.ts";
import type { Case } from "./remedy.ts";
import { storageOf, type Place, type Storage } from "./places.ts";
import { findingOf, type Finding, type Report } from "./report.ts";
import type { RepairOutcome, RepairResult } from "./repairOutcome.ts";
import { storedIn } from "./goodCopies.ts";
import { undecodable, type Suspicion } from "./suspicion.ts";
import { healthOf, isFoundAgain, leak, revisionOf, verifyThread } from "./verifyThread.ts";

/** What to repair, and how. */
export interface RepairInput {
  readonly report: Report;
  readonly apply: boolean;
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly cursor?: string | undefined;
}

const look = { took: async () => {} };

/** For pending writes that a report calls orphans. They have waited long enough, so it is only checked that they are still there. */
const lookAgain = { ...look, writtenAtMs: 0 };

/** The order of repairs: first what can be made readable again, then what is given up, then what only takes room. */
const order: readonly Finding["kind"][] = [
  "lost-thread",
  "missing-blob",
  "corrupt",
  "gap",
  "wrong-head",
  "order",
  "key-missing",
  "unreadable",
  "tombstone-leak",
  "orphan",
];

/** Mends the findings of a report, thread by thread. Each finding is checked again first, and mended by compare-and-set. */
export async function repairStorage(
  saver: Pick<TierSaver, "tier" | "coder">,
  input: RepairInput,
  { signal, progress }: Pick<Context, "signal" | "progress">,
): Promise<RepairOutcome> {
  const storage = storageOf(saver);
  const dryRun = input.dryRun || !input.apply;
  const threads = byThread(input.report.findings);
  const from =
    input.cursor === undefined
      ? 0
      : decodeCursor(
          input.cursor,
          isCount,
          "Pass the cursor of an earlier repair of the same report as it was.",
        );
  const results: RepairResult[] = [];
  const left: Finding[] = [];
  for (const [n, [threadId, findings]] of [...threads].entries()) {
    if (n < from) continue;
    const done = await repairThread(storage, threadId, findings, { dryRun, prune: input.prune });
    results.push(...done);
    for (const mended of new Set(
      done.flatMap(({ outcome, finding: { thread } }) => (outcome === "done" ? [thread ?? threadId] : [])),
    ))
      if (mended !== undefined)
        for (const suspicion of (await healthOf(storage, mended, look)).findings)
          left.push(await findingOf(storage, mended, suspicion));
    progress({ done: n + 1, total: threads.size, unit: "threads", at: threadId });
    if (signal.aborted && n + 1 < threads.size)
      return { dryRun, complete: false, cursor: encodeCursor(n + 1), results, left };
  }
  return { dryRun, complete: true, results, left };
}

function byThread(findings: readonly Finding[]): Map<string | undefined, Finding[]> {
  const threads = new Map<string | undefined, Finding[]>();
  for (const finding of findings)
    threads.set(finding.thread, [...(threads.get(finding.thread) ?? []), finding]);
  return threads;
}

interface How {
  readonly dryRun: boolean;
  readonly prune: boolean;
}

async function repairThread(
  storage: Storage,
  threadId: string | undefined,
  findings: readonly Finding[],
  how: How,
): Promise<RepairResult[]> {
  // Owners are repaired before copies, because a copy may hold what mends its owner.
  const isCopy = ({ tier }: Finding): number => Number(storage.copies.some(({ name }) => name === tier));
  const inOrder = findings.toSorted(
    (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || isCopy(a) - isCopy(b),
  );
  const results: RepairResult[] = [];
  for (const finding of inOrder) {
    const place = [...storage.owners, ...storage.copies].find(({ name }) => name === finding.tier);
    if (place === undefined)
      results.push({
        finding,
        outcome: "impossible",
        action: `This storage has no tier ${finding.tier}. Repair with the configuration that was verified.`,
      });
    else results.push(await repaired(storage, threadId, place, finding, how));
  }
  return results;
}

/** Repairs one finding. If the repair fails on other damage, the finding is "impossible", and the next ones are still repaired. */
async function repaired(
  storage: Storage,
  threadId: string | undefined,
  place: Place,
  finding: Finding,
  how: How,
): Promise<RepairResult> {
  try {
    if (finding.kind === "lost-thread") return await reviveThread(storage, place, finding, how);
    if (finding.leftover !== undefined) return await repairLeftover(place, finding, finding.leftover, how);
    if (threadId === undefined) return { finding, outcome: "impossible", action: objectAdvice };
    return await repairFinding(storage, threadId, place, finding, how);
  } catch (error) {
    const { detail } = undecodable(error);
    return { finding, outcome: "impossible", action: `${objectAdvice} What stood in the way: ${detail}` };
  }
}

/** Makes a lost thread readable again if another tier shows which thread it is. */
async function reviveThread(
  storage: Storage,
  place: Place,
  finding: Finding,
  { dryRun }: How,
): Promise<RepairResult> {
  const { tier } = place;
  const lost = findsLeftovers(tier) ? await leftoverNamed(tier, finding.leftover) : undefined;
  if (lost === undefined) return { finding, outcome: "solved", action: "It isn't found any more." };
  const threadId = await idOfLost(storage, place, lost);
  const revive = findsLeftovers(tier) ? tier.reviveLeftover : undefined;
  if (threadId === undefined || revive === undefined) {
    const what = lost.restore ?? "what the tier lost of it";
    const action = `Nothing that is left says which thread this was. Restore ${what} from a backup, and verify again. The rest of the thread is there and stays.`;
    return { finding, outcome: "impossible", action };
  }
  const action = `Rebuild the entry that leads to thread ${JSON.stringify(threadId)}, which another tier identifies by its heads. Nothing is removed.`;
  if (dryRun) return { finding, outcome: "would", action };
  return (await revive.call(tier, lost.id, threadId))
    ? { finding: { ...finding, thread: threadId }, outcome: "done", action }
    : {
        finding,
        outcome: "impossible",
        action: `Thread ${JSON.stringify(threadId)} was begun anew meanwhile. What is left of the earlier one stays. If you need it, restore it elsewhere from a backup.`,
      };
}

async function leftoverNamed(tier: LeftoverFinder, id: string | undefined): Promise<Leftover | undefined> {
  for await (const each of tier.leftovers()) if (each.id === id && each.kind === "lost") return each;
  return undefined;
}

/** The id of the thread that other tiers have with the same head and this tier lacks; undefined if there is none or more than one. */
async function idOfLost(storage: Storage, place: Place, lost: Leftover): Promise<string | undefined> {
  const { heads = new Map<string, string>() } = lost;
  const [namespace, checkpointId] = [...heads].find(([each]) => each === "") ?? [...heads][0] ?? [];
  if (namespace === undefined || checkpointId === undefined) return undefined;
  const found = new Set<string>();
  for (const other of [...storage.owners, ...storage.copies]) {
    if (other === place) continue;
    for await (const { threadId } of other.tier.threads({ onDamaged: () => undefined })) {
      if ((await place.tier.peek({ threadId, namespace: "" })).revision > 0) continue;
      if ((await storedIn(other, { threadId, namespace, checkpointId })) !== undefined) found.add(threadId);
    }
  }
  return found.size === 1 ? [...found][0] : undefined;
}

async function repairLeftover(
  place: Place,
  finding: Finding,
  id: string,
  { dryRun }: How,
): Promise<RepairResult> {
  const { tier } = place;
  const action = `Remove what is left of the deleted thread from ${place.name}.`;
  if (!findsLeftovers(tier))
    return { finding, outcome: "impossible", action: `Tier ${place.name} can't do this.` };
  if (dryRun) return { finding, outcome: "would", action };
  return (await tier.dropLeftover(id))
    ? { finding, outcome: "done", action }
    : { finding, outcome: "solved", action: "It isn't there any more, or the thread was begun anew." };
}

async function repairFinding(
  storage: Storage,
  threadId: string,
  place: Place,
  finding: Finding,
  how: How,
): Promise<RepairResult> {
  const found: Case = {
    storage,
    threadId,
    suspicion: suspicionOf(threadId, place, finding),
    prune: how.prune,
  };
  const revision = await revisionOf(place, threadId);
  const holds = await isStillThere(found);
  if (holds === undefined)
    return { finding, outcome: "changed", action: "The thread is written to. Repair it when it is idle." };
  if (!holds) return { finding, outcome: "solved", action: "It isn't found any more." };
  const remedy = await remedyFor(found);
  if ("impossible" in remedy) return { finding, outcome: "impossible", action: remedy.impossible };
  if (how.dryRun) return { finding, outcome: "would", action: remedy.does };
  return (await remedy.apply(revision))
    ? { finding, outcome: "done", action: remedy.does }
    : {
        finding,
        outcome: "changed",
        action: "The thread was written to meanwhile, and was left alone. Verify and repair it again.",
      };
}

async function isStillThere({ storage, threadId, suspicion }: Case): Promise<boolean | undefined> {
  if (suspicion.kind !== "tombstone-leak") return await isFoundAgain(storage, threadId, suspicion, lookAgain);
  const { findings } = await verifyThread(storage, threadId, look);
  return findings.some(({ kind, place }) => kind === "tombstone-leak" && place === suspicion.place);
}

/** The suspicion that a finding came from. */
function suspicionOf(threadId: string, place: Place, finding: Finding): Suspicion {
  const { kind, severity, part, namespace, checkpoint, channel, hash, batch, target, meaning, concerns } =
    finding;
  if (kind === "tombstone-leak") return leak(place, undefined);
  return {
    kind,
    severity,
    part,
    place,
    namespace,
    checkpointId: checkpoint,
    channel,
    hash,
    batch,
    target,
    meaning,
    concerns,
    involved: finding.involved.map((checkpointId) => ({ threadId, namespace, checkpointId })),
  };
}

function isCount(place: unknown): place is number {
  return Number.isInteger(place) && (place as number) >= 0;
}
