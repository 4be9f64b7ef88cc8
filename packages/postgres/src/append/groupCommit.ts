import type { Executor, PgResult } from "../connection/client.ts";
import { meetsAll } from "../connection/explained.ts";
import type { Statement } from "../schema/statements.ts";
import { appendArguments } from "./appendArguments.ts";
import type { PendingAppend } from "./pendingAppend.ts";

/** A row of what append_3 and append_thread_1 answer. */
export type AppendRow = PgResult["rows"][number];

/** What appends requests of several threads, and of one. */
interface AppendStatements {
  readonly append: Statement;
  readonly appendThread: Statement;
}

/** Most requests in one statement, and most bytes of several: what is larger goes alone, without waiting for others. */
const mostRequests = 64;
const mostBytes = 256 * 1024;

/** After so long, in milliseconds, a statement doesn't keep the next one from beginning: it is held up itself. */
const heldUpMs = 250;
/** Most groups under way, and most requests that go alone. Both together leave a pool of ten connections some for reads. */
const mostGroups = 4;
const mostAlone = 4;

interface Waiting {
  readonly request: PendingAppend;
  readonly sinceMs: number;
  /** Goes in a statement of its own: it is large, or another writer had locked its thread. */
  readonly alone: boolean;
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
  readonly #statements: AppendStatements;
  #waiting: Waiting[] = [];
  readonly #underWay = new Set<{ readonly sinceMs: number; readonly alone: boolean }>();
  /** Threads of statements under way. */
  readonly #busy = new Set<string>();
  #soon = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(executor: Executor, statements: AppendStatements) {
    this.#executor = executor;
    this.#statements = statements;
  }

  /** The rows that answer a request. @throws StratigraphError "OVERLOADED", "CLOSED", and what the statement throws */
  async append(request: PendingAppend): Promise<readonly AppendRow[]> {
    const leave = this.#executor.enter();
    try {
      return await new Promise((resolve, reject) => {
        const alone = request.bytes > mostBytes;
        this.#waiting.push({ request, sinceMs: performance.now(), alone, resolve, reject });
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
    for (let group = this.#take(); group.length > 0; group = this.#take()) void this.#send(group);
    this.#wakeLater();
  }

  /** Requests for the next statement: one that goes alone, or others together; none where they have to wait. */
  #take(): Waiting[] {
    const underWay = [...this.#underWay];
    const groups = underWay.filter(({ alone }) => !alone);
    const oldest = performance.now() - heldUpMs;
    const takesGroup = groups.length < mostGroups && groups.every(({ sinceMs }) => sinceMs <= oldest);
    const takesOne = underWay.length - groups.length < mostAlone;
    const group: Waiting[] = [];
    const left: Waiting[] = [];
    const passed = new Set<string>();
    let bytes = 0;
    for (const [i, each] of this.#waiting.entries()) {
      const { request, alone } = each;
      const fits = alone ? takesOne && group.length === 0 : takesGroup && bytes + request.bytes <= mostBytes;
      if (!fits || this.#busy.has(request.threadId) || passed.has(request.threadId)) {
        passed.add(request.threadId);
        left.push(each);
        continue;
      }
      group.push(each);
      bytes += request.bytes;
      if (alone || group.length === mostRequests) {
        for (const rest of this.#waiting.slice(i + 1)) left.push(rest);
        break;
      }
    }
    this.#waiting = left;
    return group;
  }

  async #send(group: readonly Waiting[]): Promise<void> {
    const statement = { sinceMs: performance.now(), alone: group[0]!.alone };
    this.#underWay.add(statement);
    for (const { request } of group) this.#busy.add(request.threadId);
    const again = await this.#settle(group, statement.sinceMs);
    this.#underWay.delete(statement);
    for (const { request } of group) this.#busy.delete(request.threadId);
    this.#waiting = [...again.map((each) => ({ ...each, alone: true })), ...this.#waiting];
    this.#serveSoon();
  }

  /** Answers the requests of a group; returned are those to try alone: others had locked their threads, or the statement failed. Never rejects. */
  async #settle(group: readonly Waiting[], sinceMs: number): Promise<readonly Waiting[]> {
    const locked: Waiting[] = [];
    try {
      const rounds = roundsOf(group);
      const threadId = threadOf(group);
      const { append, appendThread } = this.#statements;
      const { rows } = await this.#executor.send({
        ...(threadId === undefined ? append : appendThread),
        // Of a group, only some requests can have met a lock: each is tried alone, so that the others don't wait with it.
        repeated: group.length > 1 ? "unlessLocked" : "all",
        threadId,
        values: appendArguments(rounds.map((round) => round.map(({ request }) => request))),
      });
      let at = 0;
      for (const each of rounds.flat()) {
        const count = Math.max(1, each.request.heads.length);
        if (rows[at]!["status"] === "busy") locked.push(each);
        else each.resolve(rows.slice(at, at + count));
        at += count;
      }
    } catch (error) {
      if (group.length > 1 && !meetsAll(error)) return group;
      for (const { reject } of group) reject(error);
      // Those who came before have waited for as long as a server that is away is given.
      if (meetsAll(error)) this.#giveUp(sinceMs, error);
    }
    return locked;
  }

  #giveUp(sinceMs: number, error: unknown): void {
    const lost = this.#waiting.filter((each) => each.sinceMs <= sinceMs);
    this.#waiting = this.#waiting.filter((each) => each.sinceMs > sinceMs);
    for (const { reject } of lost) reject(error);
  }

  /** Looks again when the groups under way are held up for so long that they keep no other from beginning. */
  #wakeLater(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const begun = [...this.#underWay].filter(({ alone }) => !alone).map(({ sinceMs }) => sinceMs);
    if (this.#waiting.length === 0 || begun.length === 0) return;
    const ms = Math.max(...begun) + heldUpMs - performance.now();
    if (ms > 0) this.#timer = setTimeout(() => this.#serve(), ms + 1);
  }
}

/** The thread of all requests, where it is one. */
function threadOf(group: readonly Waiting[]): string | undefined {
  const { threadId } = group[0]!.request;
  return group.every(({ request }) => request.threadId === threadId) ? threadId : undefined;
}

/** Requests of one thread one after another, each in a round of its own. */
function roundsOf(group: readonly Waiting[]): Waiting[][] {
  const rounds: Waiting[][] = [];
  const seen = new Map<string, number>();
  for (const each of group) {
    const { threadId } = each.request;
    const round = seen.get(threadId) ?? 0;
    seen.set(threadId, round + 1);
    (rounds[round] ??= []).push(each);
  }
  return rounds;
}
