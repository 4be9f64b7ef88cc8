import { randomNumbers } from "../randomNumbers.ts";
import { openPlace, type TierPlace } from "../scale/openPlace.ts";
import { recordAppends, replayTurn } from "../scale/recordedAppends.ts";
import { termOf, threadName } from "../scale/threadNames.ts";

/** Input of the job. */
export interface FillInput extends TierPlace {
  conversationsFile: string;
  threads: number;
  /** Of each thread. */
  checkpoints: number;
}

/** What was written, and how long it took in milliseconds. */
export interface FillResult {
  ms: number;
  checkpoints: number;
  batches: number;
}

/** Different threads that are recorded; all others have the contents of one of these. */
const RECORDINGS = 8;
/** Tiers with a pool each, and threads that each of them writes at the same time. */
const TIERS = 3;
const TOGETHER = 192;

/**
 * Fills a schema with threads, through the tier as a saver would: all threads have their first turn, then all their second one, in
 * another order each time, so that the rows of a thread lie as far apart as those of threads that people come back to.
 */
export async function job({
  conversationsFile,
  threads,
  checkpoints,
  ...place
}: FillInput): Promise<FillResult> {
  const recordings = await Promise.all(
    Array.from({ length: RECORDINGS }, (_, n) => recordAppends(conversationsFile, n, checkpoints)),
  );
  const batches = recordings.map((turns) => turns.flat().filter((write) => "writes" in write).length);
  // Nobody waits for an answer here, so commits needn't reach the disk one by one.
  const tiers = Array.from({ length: TIERS }, () => openPlace(place, "-c synchronous_commit=off"));
  await tiers[0]!.setup();
  const random = randomNumbers(17);
  const order = Array.from({ length: threads }, (_, n) => n);
  const start = performance.now();
  const turns = Math.max(...recordings.map(({ length }) => length));
  for (let turn = 0; turn < turns; turn += 1) {
    shuffle(order, random);
    let next = 0;
    const worker = async (n: number): Promise<void> => {
      for (let at = next++; at < threads; at = next++) {
        const thread = order[at]!;
        const writes = recordings[thread % RECORDINGS]![turn];
        const tier = tiers[n % TIERS]!;
        if (writes !== undefined) await replayTurn(tier, writes, threadName(thread), termOf(thread));
      }
    };
    await Promise.all(Array.from({ length: TIERS * TOGETHER }, (_, n) => worker(n)));
    process.stderr.write(
      `turn ${turn + 1} of ${turns}: ${Math.round((performance.now() - start) / 1000)} s\n`,
    );
  }
  const ms = performance.now() - start;
  await Promise.all(tiers.map((tier) => tier.end()));
  return {
    ms,
    checkpoints: threads * checkpoints,
    batches: order.reduce((sum, thread) => sum + batches[thread % RECORDINGS]!, 0),
  };
}

function shuffle(numbers: number[], random: () => number): void {
  for (let i = numbers.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [numbers[i], numbers[j]] = [numbers[j]!, numbers[i]!];
  }
}
