import { StratigraphError } from "@stratigraph/core";
import { appendValues } from "./appendValues.ts";
import type { Executor, PgResult } from "./client.ts";
import type { PackedAppend } from "./packedAppend.ts";

/** A row of append_1's answer. */
export type AppendRow = PgResult["rows"][number];

/** Most requests in one statement, and most bytes of several: what is larger goes alone, without waiting for others. */
const mostRequests = 64;
const mostBytes = 256 * 1024;

/** Statements under way at once, and how long one counts as such, in milliseconds: one that is held up holds up others no longer. */
const lanes = 1;
const heldUpMs = 250;
const mostLanes = 8;

interface Waiting {
  readonly request: PackedAppend;
  readonly sinceMs: number;
  readonly resolve: (rows: readonly AppendRow[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Appends of all threads of a process: those that come while a statement is under way go together in the next one, which is one
 * transaction with one commit. A lone one goes at once. Requests of one thread keep their order. What becomes of one request is
 * no matter of the others: a refusal is an answer, and after an error each is tried alone.
 */
export class GroupCommit {
  readonly #executor: Executor;
  readonly #text: string;
  #waiting: Waiting[] = [];
  /** When each statement under way began, and threads in it. */
  readonly #underWay = new Set<{ readonly sinceMs: number; readonly apart: boolean }>();
  readonly #busy = new Set<string>();
  #soon = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(executor: Executor, text: string) {
    this.#executor = executor;
    this.#text = text;
  }

  /** The rows that answer a request. @throws StratigraphError "OVERLOADED", "UNAVAILABLE", "NOT_SET_UP" */
  async append(request: PackedAppend): Promise<readonly AppendRow[]> {
    const leave = this.#executor.enter();
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.push({ request, sinceMs: performance.now(), resolve, reject });
        this.#serveSoon();
      });
    } finally {
      leave();
    }
  }

  /** Once those that are ready in this turn of the event loop have come too. */
  #serveSoon(): void {
    if (this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.#serve();
    });
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const group = this.#take(this.#free());
      if (group.length === 0) break;
      void this.#send(group, group[0]!.request.bytes > mostBytes);
    }
    this.#wakeLater();
  }

  /** Whether one more statement may be sent now. */
  #free(): boolean {
    const now = performance.now();
    let counted = 0;
    for (const { sinceMs, apart } of this.#underWay) if (!apart && now - sinceMs < heldUpMs) counted += 1;
    return counted < lanes && this.#underWay.size < mostLanes;
  }

  /** Requests for the next statement: a large one alone, or small ones together. */
  #take(free: boolean): Waiting[] {
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    const passed = new Set<string>();
    let bytes = 0;
    for (const [i, each] of this.#waiting.entries()) {
      const { request } = each;
      const large = request.bytes > mostBytes;
      const held = this.#busy.has(request.thread) || passed.has(request.thread);
      const fits = large
        ? group.length === 0 && this.#underWay.size < mostLanes
        : free && bytes + request.bytes <= mostBytes;
      if (held || !fits) {
        passed.add(request.thread);
        left.push(each);
        continue;
      }
      group.push(each);
      bytes += request.bytes;
      if (large || group.length === mostRequests) {
        for (const rest of this.#waiting.slice(i + 1)) left.push(rest);
        break;
      }
    }
    this.#waiting = left;
    return group;
  }

  /** @param apart holds up no others: it has a large request, or waits for a lock */
  async #send(group: readonly Waiting[], apart: boolean): Promise<void> {
    const statement = { sinceMs: performance.now(), apart };
    this.#underWay.add(statement);
    for (const { request } of group) this.#busy.add(request.thread);
    const busy = await this.#settle(group, statement.sinceMs);
    this.#underWay.delete(statement);
    for (const { request } of group) this.#busy.delete(request.thread);
    for (const ofThread of busy) void this.#send(ofThread, true);
    this.#serveSoon();
  }

  /** Answers the requests of a group, except for those of threads that others have locked: these are returned. Never rejects. */
  async #settle(group: readonly Waiting[], sinceMs: number): Promise<Iterable<Waiting[]>> {
    const busy = new Map<string, Waiting[]>();
    try {
      const rounds = roundsOf(group);
      const { rows } = await this.#executor.send({
        text: this.#text,
        values: appendValues(rounds.map((round) => round.map(({ request }) => request))),
      });
      let at = 0;
      for (const each of rounds.flat()) {
        const { thread, expected } = each.request;
        const count = Math.max(1, expected.length);
        if (rows[at]!["status"] === "busy") busy.set(thread, [...(busy.get(thread) ?? []), each]);
        else each.resolve(rows.slice(at, at + count));
        at += count;
      }
    } catch (error) {
      const away = StratigraphError.is(error, "UNAVAILABLE") && error.data["forMs"] !== undefined;
      if (group.length > 1 && !away && !StratigraphError.is(error, "NOT_SET_UP")) {
        for (const each of group) await this.#settle([each], sinceMs);
        return [];
      }
      for (const { reject } of group) reject(error);
      // Those who came before have waited for as long as a server that is away is given.
      if (away) this.#giveUp(sinceMs, error);
    }
    return busy.values();
  }

  #giveUp(sinceMs: number, error: unknown): void {
    const lost = this.#waiting.filter((each) => each.sinceMs <= sinceMs);
    this.#waiting = this.#waiting.filter((each) => each.sinceMs > sinceMs);
    for (const { reject } of lost) reject(error);
  }

  /** Looks again when the oldest statement is held up for so long that it doesn't count any more. */
  #wakeLater(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    const now = performance.now();
    const left = [...this.#underWay].map(({ sinceMs }) => sinceMs + heldUpMs - now).filter((ms) => ms > 0);
    if (left.length > 0) this.#timer = setTimeout(() => this.#serve(), Math.min(...left) + 1);
  }
}

/** Requests of one thread one after another, each in a round of its own. */
function roundsOf(group: readonly Waiting[]): Waiting[][] {
  const rounds: Waiting[][] = [];
  const seen = new Map<string, number>();
  for (const each of group) {
    const { thread } = each.request;
    const round = seen.get(thread) ?? 0;
    seen.set(thread, round + 1);
    (rounds[round] ??= []).push(each);
  }
  return rounds;
}
