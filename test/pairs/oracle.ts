import { tokensOf } from "./conversation.ts";

/** A turn of a conversation: what somebody said, once or again where it was lost. */
interface Turn {
  readonly name: string;
  readonly thread: string;
  /** Whoever said it. */
  readonly by: object;
  /** When it was begun last. */
  begun: number;
  /** When whoever said it was told that it is done. Undefined: never. */
  acknowledged: number | undefined;
  /** Whether its saver was told that another run won: it is beside the head's line. */
  isBeside: boolean;
}

/** What may take acknowledged turns away. */
type Harm =
  /** The thread was deleted: nothing of before comes back. */
  | "deleted"
  /** The storage forgot what came last, or everything: lost turns are no surprise. */
  | "lost"
  /** The thread was moved elsewhere: what was said meanwhile may have been refused, or dropped with a trace. */
  | "moved"
  /** The head went elsewhere: turns may be beside its line. */
  | "rewound"
  /** Only the head's line had to stay. */
  | "pruned";

const harms: readonly Harm[] = ["deleted", "lost", "moved", "rewound", "pruned"];

interface Done {
  readonly what: Harm;
  /** Undefined: every thread. */
  readonly thread: string | undefined;
  readonly begun: number;
  ended: number;
  acknowledged: boolean;
}

/** A state of a thread, as somebody reads it. */
export interface State {
  readonly id: string;
  readonly parent: string | undefined;
  readonly tokens: readonly string[];
}

/** What somebody reads of a thread: its head, and its history. */
export interface Reading {
  readonly head: readonly string[];
  readonly history: readonly State[];
}

/** A promise that wasn't kept. */
export class Broken extends Error {}

/**
 * What was acknowledged, and what a user would say of what is read: it knows what was asked for and what was answered, and nothing
 * of how anything is stored.
 */
export class Oracle {
  readonly #turns = new Map<string, Turn>();
  readonly #done: Done[] = [];
  /** Threads that began as a copy of another one. */
  readonly #copies = new Map<string, string>();
  #moment = 0;
  #names = 0;

  /** Somebody begins to say something. @param again a turn that was lost */
  say(thread: string, by: object, again?: string): string {
    const name = again ?? `${thread}.${(this.#names += 1)}`;
    const begun = this.#now();
    this.#turns.set(name, { name, thread, by, begun, acknowledged: undefined, isBeside: false });
    return name;
  }

  /** Whoever said it was told that it is done, and what the conversation is now. */
  acknowledge(name: string, tokens: readonly string[]): void {
    const turn = this.#turns.get(name)!;
    turn.acknowledged = this.#now();
    this.checkLine(turn.thread, tokens);
    for (const token of tokensOf(name))
      if (!tokens.includes(token)) throw new Broken(`The run of ${name} ended without ${token}`);
  }

  /** The saver of a turn was told that it lost a race. */
  besides(name: string): void {
    this.#turns.get(name)!.isBeside = true;
  }

  /** Does something that may take turns away. Where whoever did it doesn't know, it may have been done, or be done until {@link settle}. */
  async harm(what: Harm, thread: string | undefined, work: () => Promise<unknown>): Promise<void> {
    const done: Done = { what, thread, begun: this.#now(), ended: Infinity, acknowledged: false };
    this.#done.push(done);
    if ((await work()) === undefined) return;
    done.ended = this.#now();
    done.acknowledged = true;
  }

  /** What was under way has ended, whoever knows of it. */
  settle(): void {
    const now = this.#now();
    for (const done of this.#done) done.ended = Math.min(done.ended, now);
  }

  /** A thread is a copy of another one from now on. */
  copied(source: string, target: string): void {
    this.#copies.set(target, source);
  }

  /** The acknowledged turns of a thread that were lost with the storage, if they aren't in what is read. */
  lostOf(thread: string, tokens: readonly string[]): string[] {
    return [...this.#turns.values()]
      .filter((turn) => turn.thread === thread && turn.acknowledged !== undefined)
      .filter((turn) => this.#harmed(turn, "lost") && !this.#harmed(turn, "deleted"))
      .map(({ name }) => name)
      .filter((name) => !tokens.some((token) => token.startsWith(`${name}.`)));
  }

  /** Whether tokens are a conversation: nothing missing in the middle, nothing twice, nothing of others. @throws Broken */
  checkLine(thread: string, tokens: readonly string[]): void {
    const line = tokens.map((token) => token.slice(token.lastIndexOf(".") + 1)).join(" ");
    const told = (what: string): Broken => new Broken(`${what}, in ${tokens.join(" ")} of ${thread}`);
    if (new Set(tokens).size !== tokens.length) throw told("A token is there twice");
    const names = [...new Set(tokens.map((token) => token.slice(0, token.lastIndexOf("."))))];
    let place = 0;
    for (const [index, name] of names.entries()) {
      const turn = this.#turns.get(name);
      if (turn === undefined || !this.#belongs(turn.thread, thread))
        throw told(`${name} isn't of this thread`);
      const parts: string[] = [];
      while (tokens[place]?.startsWith(`${name}.`) === true) {
        parts.push(tokens[place]!.slice(name.length + 1));
        place += 1;
      }
      const said = parts.join(" ");
      if (!/^in( a( b( c)?| c( b)?)?)?$/.test(said))
        throw told(`Of ${name} there is ${said || "something apart"}`);
      const isLast = index === names.length - 1;
      if (!isLast && turn.acknowledged !== undefined && !this.#isExcused(turn, thread) && parts.length < 4)
        throw told(`${name} was acknowledged, and only ${said} of it is there`);
    }
    if (place !== tokens.length) throw told(`Turns are mixed (${line})`);
  }

  /** Whether what is read agrees with itself. @throws Broken */
  checkReading(thread: string, { head, history }: Reading): void {
    this.checkLine(thread, head);
    const states = new Map<string, State>();
    for (const state of history) {
      if (states.has(state.id)) throw new Broken(`Checkpoint ${state.id} of ${thread} is listed twice`);
      states.set(state.id, state);
      this.checkLine(thread, state.tokens);
    }
    for (const { id, parent, tokens } of history) {
      const before = parent === undefined ? undefined : states.get(parent)?.tokens;
      if (before?.some((token, index) => tokens[index] !== token) === true)
        throw new Broken(`${id} of ${thread} has ${tokens.join(" ")}, and its parent ${before.join(" ")}`);
    }
  }

  /**
   * Whether what is read at last is what was acknowledged.
   * @param elsewhere what is read where the thread went, and stayed because it began anew meanwhile
   * @throws Broken
   */
  checkLast(thread: string, reading: Reading, elsewhere?: Reading): void {
    this.checkReading(thread, reading);
    if (elsewhere !== undefined) this.checkReading(thread, elsewhere);
    const anywhere = new Set([...reading.head, ...reading.history.flatMap(({ tokens }) => tokens)]);
    for (const turn of this.#turns.values()) {
      if (turn.thread !== thread) continue;
      const tokens = tokensOf(turn.name);
      if (this.#isGone(turn)) {
        const back = tokens.find((token) => anywhere.has(token));
        if (back !== undefined) throw new Broken(`${back} is back in ${thread}, after it was deleted`);
      }
      if (turn.isBeside && !this.#lostRace(turn) && !harms.some((harm) => this.#harmed(turn, harm)))
        throw new Broken(`${turn.name} lost a race on ${thread} that nobody else ran in`);
      if (turn.acknowledged === undefined) continue;
      if (this.#harmed(turn, "deleted") || this.#harmed(turn, "lost") || this.#harmed(turn, "moved"))
        continue;
      const rewound = this.#lostRace(turn) || this.#harmed(turn, "rewound");
      if (rewound && this.#harmed(turn, "pruned")) continue;
      const missing = tokens.find((token) => !(rewound ? anywhere.has(token) : reading.head.includes(token)));
      if (missing !== undefined && !tokens.every((token) => elsewhere?.head.includes(token)))
        throw new Broken(
          `${missing} was acknowledged, and isn't in ${thread}: ${reading.head.join(" ") || "nothing"}`,
        );
    }
  }

  /** Turns that must be in a copy which was begun at a moment. */
  checkCopy(target: string, begun: number, reading: Reading): void {
    this.checkReading(target, reading);
    const source = this.#copies.get(target)!;
    for (const turn of this.#turns.values()) {
      if (turn.thread !== source || this.#lostRace(turn) || (turn.acknowledged ?? Infinity) > begun) continue;
      if (this.#done.some(({ what, thread }) => what !== "pruned" && (thread ?? source) === source)) continue;
      const missing = tokensOf(turn.name).find((token) => !reading.head.includes(token));
      if (missing !== undefined) throw new Broken(`${missing} is missing in ${target}, a copy of ${source}`);
    }
  }

  get moment(): number {
    return this.#moment;
  }

  #now(): number {
    this.#moment += 1;
    return this.#moment;
  }

  /** Whether a turn is beside the head's line, and somebody else was there to win. Nobody races with a run that he has stopped himself. */
  #lostRace(turn: Turn): boolean {
    if (!turn.isBeside) return false;
    return [...this.#turns.values()].some(
      ({ by, thread, begun, acknowledged = Infinity }) =>
        by !== turn.by &&
        (thread === turn.thread
          ? begun < (turn.acknowledged ?? Infinity) && acknowledged > turn.begun
          : this.#belongs(thread, turn.thread)),
    );
  }

  /** Whether something that was done may have taken a turn away, or may have kept it from its place. */
  #harmed(turn: Turn, wanted: Harm): boolean {
    return this.#done.some(
      ({ what, thread, begun, ended }) =>
        what === wanted &&
        (thread ?? turn.thread) === turn.thread &&
        ended > turn.begun &&
        (what !== "moved" || (turn.acknowledged ?? Infinity) > begun),
    );
  }

  /** Whether parts of a turn that was acknowledged may be elsewhere, or nowhere. Of another storage's turns some may have been brought. */
  #isExcused(turn: Turn, thread: string): boolean {
    return (
      this.#lostRace(turn) ||
      turn.thread !== thread ||
      (["deleted", "lost", "moved", "rewound"] as const).some((harm) => this.#harmed(turn, harm))
    );
  }

  /** Whether a turn must not be there any more: it was done before a deletion that was acknowledged, and that nothing undid. */
  #isGone(turn: Turn): boolean {
    const { acknowledged } = turn;
    if (acknowledged === undefined) return false;
    return this.#done.some(
      (deletion) =>
        deletion.what === "deleted" &&
        deletion.acknowledged &&
        (deletion.thread ?? turn.thread) === turn.thread &&
        acknowledged < deletion.begun &&
        !this.#done.some(
          ({ what, ended }) => (what === "lost" || what === "moved") && ended > deletion.begun,
        ),
    );
  }

  #belongs(owner: string, thread: string): boolean {
    const source = this.#copies.get(thread);
    return owner === thread || (source !== undefined && this.#belongs(owner, source));
  }
}
