import { createHash, randomBytes } from "node:crypto";
import { answerWithin, endsWithin } from "./answerWithin.ts";
import { sleep } from "../maintenance/sleep.ts";
import { StratigraphError } from "./errors.ts";
import { Waiters } from "./waiters.ts";
import type { WorkspaceNews } from "./workspaces.ts";

/** How the processes that use a storage tell each other of news. What they tell may be lost. */
export interface NewsWire {
  /** Tells all that listen. The text has at most 8,000 ASCII characters. */
  send(text: string): Promise<unknown>;
  /**
   * Opens a connection of its own, and resolves once it listens. Absent: nothing can be heard.
   * @param hear is called with each text
   * @param over is called when the connection has ended, once it listened
   * @param signal closes the connection
   */
  listen?:
    | ((hear: (text: string) => void, over: () => void, signal: AbortSignal) => Promise<void>)
    | undefined;
}

/** How many names are sent at a time. If there are more, all that listen look. */
const mostNames = 256;
const everything = "*";

/** For how long nothing is sent once the storage refused it to this user, in milliseconds. */
const refusedMs = 60_000;

/** How long opening a connection and closing it may take, in milliseconds. */
const openingMs = 10_000;
const closingMs = 2000;

/** Pauses of a listener, in milliseconds. */
const defaultPauses = {
  /** Between two probes, and for how long one is waited for. */
  probe: 20_000,
  answer: 5000,
  /** How long it stays open when nobody waits. */
  idle: 10_000,
  /** Before it is opened again: after the first failure, and at most. */
  again: 250,
  longest: 60_000,
};

/** Length of the name by which a sender knows its own texts. */
const idLength = 8;

/**
 * Wakes who waits for commits of a workspace. Those of this process are known at once; others are told by a wire. Nobody depends on that:
 * readers look from time to time. What is told is the hash of a workspace's name.
 *
 * A connection may listen and hear nothing: a pooler takes LISTEN and gives the connection to others, and a cut wire stays silent. So
 * the listener sends itself a probe, the way commits are told of, and counts from when it heard it until it doesn't hear one.
 */
export class News {
  readonly #wire: NewsWire | undefined;
  readonly #pauses: typeof defaultPauses;
  readonly #waiters = new Waiters();
  readonly #id = randomBytes(6).toString("base64url");
  readonly #sending = new Set<Promise<void>>();
  readonly #unsent = new Set<string>();
  #refusedUntil = 0;
  #probes = 0;
  #heard: { readonly probe: string; readonly resolve: () => void } | undefined;
  /** Ends the listener. */
  #listener: AbortController | undefined;
  /** The listener that hears what is told. */
  #hearing: AbortController | undefined;
  #closing: Promise<void> | undefined;
  #idle: NodeJS.Timeout | undefined;
  #ended = false;

  /** @param wire absent: no other process uses the storage */
  constructor(wire?: NewsWire, pauses: Partial<typeof defaultPauses> = {}) {
    this.#wire = wire;
    this.#pauses = { ...defaultPauses, ...pauses };
  }

  /** As WorkspaceStorage.changed. */
  wait(workspace: string, signal: AbortSignal): WorkspaceNews {
    const come = this.#waiters.wait(wordOf(workspace), signal);
    this.#listen();
    void come.then(() => this.#closeUnused());
    return { come, ofAllProcesses: this.#wire === undefined || this.#hearing !== undefined };
  }

  /** Tells of a commit that was made. Fails never, and nothing waits for it. */
  tell(workspace: string): void {
    const word = wordOf(workspace);
    this.#waiters.wake(word);
    if (this.#wire === undefined || this.#ended) return;
    this.#unsent.add(word);
    // One at a time: what comes meanwhile goes along with the next.
    if (this.#sending.size === 0) this.#send();
  }

  /** Sends what is unsent, and closes the listener: for two seconds at most. */
  async end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#idle);
    this.#listener?.abort();
    this.#listener = this.#hearing = undefined;
    this.#waiters.wakeAll();
    this.#send();
    await endsWithin(closingMs, () => Promise.all([...this.#sending, this.#closing]));
  }

  #send(): void {
    if (this.#unsent.size === 0) return;
    const words = this.#unsent.size > mostNames ? [everything] : this.#unsent;
    const text = [this.#id, ...words].join(" ");
    this.#unsent.clear();
    if (performance.now() < this.#refusedUntil) return;
    const sending = this.#wire!.send(text).then(
      () => undefined,
      (error: unknown) => {
        if (StratigraphError.is(error) && error.code === "ACCESS_DENIED")
          this.#refusedUntil = performance.now() + refusedMs;
      },
    );
    this.#sending.add(sending);
    void sending.finally(() => {
      this.#sending.delete(sending);
      if (this.#sending.size === 0) this.#send();
    });
  }

  #listen(): void {
    clearTimeout(this.#idle);
    if (this.#wire?.listen === undefined || this.#listener !== undefined || this.#ended) return;
    if (this.#waiters.isEmpty) return;
    const listener = new AbortController();
    this.#listener = listener;
    const closed = this.#closing;
    this.#closing = Promise.all([closed, this.#keepListening(listener)]).then(() => undefined);
  }

  #closeUnused(): void {
    if (!this.#waiters.isEmpty || this.#listener === undefined) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      this.#listener?.abort();
      this.#listener = this.#hearing = undefined;
    }, this.#pauses.idle).unref();
  }

  async #keepListening(listener: AbortController): Promise<void> {
    const { again, longest } = this.#pauses;
    for (let pause = again; !listener.signal.aborted; pause = Math.min(2 * pause, longest)) {
      if (await this.#listenOnce(listener)) pause = again;
      await sleep(pause, listener.signal, { ref: false });
    }
  }

  /** Listens until the connection ends or is silent. Returns whether it has heard something. */
  async #listenOnce(listener: AbortController): Promise<boolean> {
    const connection = new AbortController();
    const close = (): void => connection.abort();
    listener.signal.addEventListener("abort", close);
    const { signal } = connection;
    let over = close;
    const closed = new Promise<void>((resolve) => {
      over = () => {
        close();
        resolve();
      };
    });
    let isOpen = false;
    try {
      await inTime(openingMs, () => this.#wire!.listen!((text) => this.#hear(text), over, signal), signal);
      isOpen = true;
      while (!signal.aborted) {
        await this.#probe(signal);
        if (this.#hearing !== listener && !signal.aborted) {
          this.#hearing = listener;
          // Nobody knows what was told before.
          this.#waiters.wakeAll();
        }
        await sleep(this.#pauses.probe, signal, { ref: false });
      }
    } catch {
      // It couldn't be opened, or its probe wasn't heard.
    }
    close();
    listener.signal.removeEventListener("abort", close);
    const hasHeard = this.#hearing === listener;
    if (hasHeard) {
      this.#hearing = undefined;
      this.#waiters.wakeAll();
    }
    if (isOpen) await endsWithin(closingMs, () => closed);
    return hasHeard;
  }

  /** @throws if it isn't heard */
  async #probe(signal: AbortSignal): Promise<void> {
    const probe = `?${(this.#probes += 1)}`;
    const heard = new Promise<void>((resolve) => (this.#heard = { probe, resolve }));
    const send = () => Promise.all([this.#wire!.send(`${this.#id} ${probe}`), heard]);
    await inTime(this.#pauses.answer, send, signal);
  }

  #hear(text: string): void {
    const from = text.slice(0, idLength);
    const words = text.slice(idLength + 1).split(" ");
    if (from === this.#id) {
      // Who waits here was woken by the commit itself.
      if (words[0] === this.#heard?.probe) this.#heard!.resolve();
    } else if (words[0] === everything) this.#waiters.wakeAll();
    else for (const word of words) this.#waiters.wake(word);
  }
}

/** Stands for a workspace: its name may be long, and hold anything. */
function wordOf(workspace: string): string {
  return createHash("sha256").update(workspace).digest("base64url").slice(0, 16);
}

async function inTime(ms: number, call: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  await answerWithin(ms, call, () => new Error(`no answer within ${ms} ms`), signal);
}
