import { AsyncLocalStorage } from "node:async_hooks";
import { currentTracer } from "@stratigraph/core/internal";
import type { Executor, PgQuery, PgResult } from "../connection/client.ts";
import { meetsAll } from "../connection/explainPostgresError.ts";
import type { Statement } from "../schema/statements.ts";
import { appendArguments } from "./appendArguments.ts";
import type { PendingAppend } from "./pendingAppend.ts";

/** A row that append_1 and append_thread_1 return. */
export type AppendRow = PgResult["rows"][number];

/** The statements that append requests of several threads, of one, and of threads of which some begin. */
interface AppendStatements {
  readonly append: Statement;
  readonly appendThread: Statement;
  readonly appendBegins: Statement;
}

/** Limits of a group, which shares one statement: requests, and bytes. A larger request goes alone, without waiting for others. */
const mostRequests = 64;
const mostBytes = 256 * 1024;

/** A group that takes longer than this, in milliseconds, counts as held up: the next one begins without waiting for it. */
const heldUpMs = 250;
/** How many groups, and how many lone requests, may be under way at once. In a pool of ten connections, this leaves two for reads. */
const mostGroups = 4;
const mostAlone = 4;

type InContext = <T>(work: () => T) => T;

interface Waiting {
  readonly request: PendingAppend;
  readonly sinceMs: number;
  /** It gets a statement of its own, because it is large, another writer had locked its thread, or its group failed. */
  readonly alone: boolean;
  /** Runs work in the caller's asynchronous context, for spans. Otherwise a statement could run in the context of another call. */
  readonly inContext: InContext | undefined;
  readonly resolve: (rows: readonly AppendRow[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends the appends of all threads of a process. Requests that arrive while a statement is under way go together in the next one,
 * which is one transaction with one commit; a lone request goes at once. Requests of one thread keep their order. The outcome of one
 * request doesn't affect the others: a refusal is an answer, and after an error each request is tried alone.
 */
export class GroupCommit {
  readonly #executor: Executor;
  readonly #statements: AppendStatements;
  #waiting: Waiting[] = [];
  readonly #underWay = new Set<{ readonly sinceMs: number; readonly alone: boolean }>();
  /** Threads that have a statement under way. */
  readonly #busy = new Set<string>();
  #scheduled = false;
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
        const inContext = currentTracer() === undefined ? undefined : contextHere();
        this.#waiting.push({ request, sinceMs: performance.now(), alone, inContext, resolve, reject });
        this.#serveSoon();
      });
    } finally {
      leave();
    }
  }

  /** Waits for other requests of this turn of the event loop. */
  #serveSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#serve();
    });
  }

  #serve(): void {
    for (let group = this.#take(); group.length > 0; group = this.#take()) void this.#send(group);
    this.#wakeLater();
  }

  /** Takes the requests of the next statement: one that goes alone, or a group; none if all have to wait. */
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

  /**
   * Sends a group and answers its requests. Never rejects.
   * @returns the requests to try alone, because another writer had locked their threads or the statement failed
   */
  async #settle(group: readonly Waiting[], sinceMs: number): Promise<readonly Waiting[]> {
    const locked: Waiting[] = [];
    try {
      const rounds = roundsOf(group);
      const threadId = threadOf(group);
      const inOrder = rounds.flat();
      const begins = inOrder.flatMap(({ request }, i) => (request.begins ? [i + 1] : []));
      const { append, appendThread, appendBegins } = this.#statements;
      const lists = appendArguments(rounds.map((round) => round.map(({ request }) => request)));
      const query: PgQuery = {
        ...(begins.length > 0 ? appendBegins : threadId === undefined ? append : appendThread),
        // Perhaps only some requests of a group meet a lock. Then each is tried alone, so that the others don't wait for it.
        repeated: group.length > 1 ? "unlessLocked" : "all",
        threadId,
        batch: group.length,
        values: begins.length > 0 ? [...lists, threadId !== undefined, begins] : lists,
      };
      const { inContext } = group[0]!;
      const send = (): Promise<PgResult> => this.#executor.send(query);
      const { rows } = await (inContext === undefined ? send() : inContext(send));
      let at = 0;
      for (const each of inOrder) {
        const count = Math.max(1, each.request.heads.length);
        if (rows[at]!["status"] === "busy") locked.push(each);
        else each.resolve(rows.slice(at, at + count));
        at += count;
      }
    } catch (error) {
      if (group.length > 1 && !meetsAll(error)) return group;
      for (const { reject } of group) reject(error);
      // Requests that came before the statement began have waited at least as long. They fail with it, instead of waiting once more.
      if (meetsAll(error)) this.#giveUp(sinceMs, error);
    }
    return locked;
  }

  #giveUp(sinceMs: number, error: unknown): void {
    const lost = this.#waiting.filter((each) => each.sinceMs <= sinceMs);
    this.#waiting = this.#waiting.filter((each) => each.sinceMs > sinceMs);
    for (const { reject } of lost) reject(error);
  }

  /** Serves waiting requests when the groups under way have taken so long that the next one may begin. */
  #wakeLater(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const begun = [...this.#underWay].filter(({ alone }) => !alone).map(({ sinceMs }) => sinceMs);
    if (this.#waiting.length === 0 || begun.length === 0) return;
    const ms = Math.max(...begun) + heldUpMs - performance.now();
    if (ms > 0) this.#timer = setTimeout(() => this.#serve(), ms + 1);
  }
}

function contextHere(): InContext {
  return AsyncLocalStorage.snapshot();
}

/** The thread of all requests; undefined if there are several. */
function threadOf(group: readonly Waiting[]): string | undefined {
  const { threadId } = group[0]!.request;
  return group.every(({ request }) => request.threadId === threadId) ? threadId : undefined;
}

/** Splits a group into rounds: requests of one thread go in successive rounds, in their order. */
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
