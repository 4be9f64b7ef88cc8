import { randomNumbers } from "./randomNumbers.ts";

/** One use of a thread, as a hot tier sees it. A trace is a list of them, oldest first. */
export interface ThreadUse {
  /** Milliseconds since the trace began. */
  readonly atMs: number;
  readonly thread: string;
  readonly use: "read" | "write";
  /** True where a job reads every thread once: such reads are replayed, but don't count as hits. */
  readonly scan?: true;
}

/** What traffic is generated. */
export interface TraceShape {
  readonly threads: number;
  readonly days: number;
  readonly seed: number;
  /** How often a job reads every thread once, in days. Absent: never. */
  readonly scanEveryDays?: number;
}

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];

/**
 * Generates a trace. Users of a chat ask again after about a minute, within ten minutes in most cases (log-normal). A quarter of the
 * sessions has one question. Most users never come back; 21 % come back after a time of any scale (Pareto), 4 % come every day at about
 * the same hour, and 0.5 % of the threads are run by a machine at a fixed interval. The same seed gives the same trace on every machine.
 */
export function generateTrace({ threads, days, seed, scanEveryDays }: TraceShape): ThreadUse[] {
  const endMs = days * day;
  const random = randomNumbers(seed);
  const exponential = (mean: number): number => -Math.log(1 - random()) * mean;
  const normal = (): number => Math.sqrt(exponential(2)) * Math.cos(2 * Math.PI * random());
  const logNormal = (median: number, spread: number): number => median * Math.exp(spread * normal());
  const pareto = (least: number): number => Math.min(60 * day, least / (1 - random()) ** (1 / 0.6));
  const uses: ThreadUse[] = [];

  /** One read and four writes, as was recorded. The steps take a few seconds each. Answers when it ended. */
  const turn = (thread: string, beganMs: number): number => {
    uses.push({ atMs: beganMs, thread, use: "read" });
    let atMs = beganMs + 20;
    for (let n = 0; n < 4; n += 1, atMs += logNormal(1.5 * second, 0.8))
      uses.push({ atMs, thread, use: "write" });
    return atMs;
  };
  /** Questions and answers, one after another. Answers when it ended. */
  const session = (thread: string, beganMs: number): number => {
    const questions = random() < 0.27 ? 1 : 1 + Math.ceil(exponential(4.5));
    let atMs = beganMs;
    for (let n = 0; n < questions; n += 1)
      atMs = turn(thread, atMs) + Math.min(3 * hour, logNormal(70 * second, 1.3));
    return atMs;
  };
  const comesBack = (thread: string, beganMs: number): void => {
    let atMs = beganMs;
    do atMs = session(thread, atMs) + pareto(20 * minute);
    while (atMs < endMs && random() < 0.75);
  };
  const daily = (thread: string, beganMs: number): void => {
    const visits = Math.ceil(exponential(25));
    for (let n = 0; n < visits; n += 1)
      if (n === 0 || random() < 0.8)
        session(thread, Math.max(beganMs, beganMs + n * day + normal() * 1.5 * hour));
  };
  const machine = (thread: string, beganMs: number): void => {
    const everyMs = [15 * minute, hour, 6 * hour][Math.floor(random() * 3)]!;
    const lastMs = beganMs + exponential(day);
    for (let atMs = beganMs; atMs < lastMs; atMs += everyMs * (0.95 + 0.1 * random())) turn(thread, atMs);
  };

  const began = Array.from({ length: threads }, () => random() * endMs * 0.95);
  for (const [n, beganMs] of began.entries()) {
    const user = random();
    const use = user < 0.21 ? comesBack : user < 0.25 ? daily : user < 0.255 ? machine : session;
    use(`thread ${n}`, beganMs);
    // Some are looked at without being written to.
    if (random() < 0.15)
      uses.push({ atMs: beganMs + pareto(10 * minute), thread: `thread ${n}`, use: "read" });
  }
  if (scanEveryDays !== undefined)
    for (let atMs = 0.7 * scanEveryDays * day; atMs < endMs; atMs += scanEveryDays * day)
      for (const [n, beganMs] of began.entries())
        if (beganMs < atMs)
          uses.push({ atMs: atMs + (n * second) / 2, thread: `thread ${n}`, use: "read", scan: true });
  return uses.filter(({ atMs }) => atMs < endMs).toSorted((a, b) => a.atMs - b.atMs);
}
