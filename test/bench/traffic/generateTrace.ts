import { randomNumbers } from "../randomNumbers.ts";
import type { RecordedTurns } from "../jobs/recordTurns.ts";
import type { ThreadUse } from "./trace.ts";

/** What traffic is generated. */
export interface TraceShape {
  readonly turns: RecordedTurns;
  readonly threads: number;
  readonly days: number;
  readonly seed: number;
  /** How often a job reads every thread once, in days. Absent: never. */
  readonly scanEveryDays?: number | undefined;
}

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];
/** How often each kind of user is met; the others have one session and never come back. */
const shares = { comesBack: 0.21, daily: 0.04, machine: 0.005 };
/** A quarter of the sessions has one question, as in ShareGPT, where 73 % of conversations have more. */
const oneQuestion = 0.27;
const meanFurtherQuestions = 4.5;
/** How often a thread is looked at without being written to. */
const lookedAt = 0.15;

/**
 * Generates a trace: recorded turns, at generated times. Users of a chat ask again after about a minute, within ten minutes in most cases
 * (log-normal, as e-mail is answered; 80 % of reuses within ten minutes is published for a large chat service). Most never come
 * back. Some come back after a time of any scale (Pareto, exponent 0.6, from 20 minutes to 60 days), a few come every day at about
 * the same hour, and very few threads are run by a machine at a fixed interval. The same seed gives the same trace on every machine.
 */
export function generateTrace({ turns, threads, days, seed, scanEveryDays }: TraceShape): ThreadUse[] {
  const traffic = new Traffic(turns, days * day, seed);
  for (let n = 0; n < threads; n += 1) traffic.thread(n);
  if (scanEveryDays !== undefined) traffic.scans(scanEveryDays * day);
  return traffic.uses.sort((a, b) => a.atMs - b.atMs);
}

class Traffic {
  readonly uses: ThreadUse[] = [];
  readonly #turns: RecordedTurns;
  readonly #endMs: number;
  readonly #random: () => number;
  /** When each thread began. */
  readonly #began = new Map<string, number>();
  /** How many turns each thread has had. */
  readonly #had = new Map<string, number>();

  constructor(turns: RecordedTurns, endMs: number, seed: number) {
    this.#turns = turns;
    this.#endMs = endMs;
    this.#random = randomNumbers(seed);
  }

  thread(n: number): void {
    const thread = `thread ${n}`;
    const beganMs = this.#random() * this.#endMs * 0.95;
    this.#began.set(thread, beganMs);
    const kind = this.#random();
    if (kind < shares.comesBack) this.#comesBack(thread, beganMs);
    else if (kind < shares.comesBack + shares.daily) this.#daily(thread, beganMs);
    else if (kind < shares.comesBack + shares.daily + shares.machine) this.#machine(thread, beganMs);
    else this.#session(thread, beganMs);
    if (this.#random() < lookedAt) this.#read(thread, beganMs + this.#pareto(10 * minute));
  }

  /** Reads two threads a second. */
  scans(everyMs: number): void {
    for (let atMs = everyMs * 0.7; atMs < this.#endMs; atMs += everyMs) {
      for (const [n, [thread, beganMs]] of [...this.#began].entries())
        if (beganMs < atMs)
          this.uses.push({ atMs: atMs + (n * second) / 2, thread, use: "read", bytes: 0, scan: true });
    }
  }

  /** Questions and answers, one after another. Answers when it ended. */
  #session(thread: string, beganMs: number): number {
    const questions =
      this.#random() < oneQuestion ? 1 : 1 + Math.ceil(this.#exponential(meanFurtherQuestions));
    let atMs = beganMs;
    for (let n = 0; n < questions; n += 1)
      atMs = this.#turn(thread, atMs) + Math.min(3 * hour, this.#logNormal(70 * second, 1.3));
    return atMs;
  }

  #comesBack(thread: string, beganMs: number): void {
    let atMs = beganMs;
    do atMs = this.#session(thread, atMs) + this.#pareto(20 * minute);
    while (atMs < this.#endMs && this.#random() < 0.75);
  }

  #daily(thread: string, beganMs: number): void {
    const days = Math.ceil(this.#exponential(25));
    for (let n = 0; n < days; n += 1) {
      const atMs = Math.max(beganMs, beganMs + n * day + this.#normal() * 1.5 * hour);
      if (n === 0 || this.#random() < 0.8) this.#session(thread, atMs);
    }
  }

  #machine(thread: string, beganMs: number): void {
    const everyMs = [15 * minute, hour, 6 * hour][Math.floor(this.#random() * 3)]!;
    const endMs = beganMs + this.#exponential(day);
    for (let atMs = beganMs; atMs < endMs; atMs += everyMs * (0.95 + 0.1 * this.#random()))
      this.#turn(thread, atMs);
  }

  /** A recorded turn; its steps take a few seconds each, as with a model. Answers when it ended. */
  #turn(thread: string, beganMs: number): number {
    const number = Number(thread.split(" ")[1]);
    const turns = this.#turns[number % this.#turns.length]!;
    const had = this.#had.get(thread) ?? 0;
    this.#had.set(thread, had + 1);
    let atMs = beganMs;
    for (const { use, bytes } of turns[had % turns.length]!) {
      if (atMs < this.#endMs) this.uses.push({ atMs, thread, use, bytes: Math.round(bytes) });
      atMs += use === "read" ? 20 : this.#logNormal(1.5 * second, 0.8);
    }
    return atMs;
  }

  #read(thread: string, atMs: number): void {
    if (atMs < this.#endMs) this.uses.push({ atMs, thread, use: "read", bytes: 0 });
  }

  #exponential(mean: number): number {
    return -Math.log(1 - this.#random()) * mean;
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
  }

  #logNormal(median: number, spread: number): number {
    return median * Math.exp(spread * this.#normal());
  }

  #pareto(least: number): number {
    return Math.min(60 * day, least / (1 - this.#random()) ** (1 / 0.6));
  }
}
