import { setTimeout as sleep } from "node:timers/promises";

/** What a person has to answer. */
interface Question {
  id: string;
  kind: string;
  tool: string;
  args: { amount: number };
}

/** What the service tells of a thread. */
export interface Shown {
  messages: { id: string; role: string; text: string }[];
  documents: string[];
  questions: Question[];
  unfinished: boolean;
  underWay: string[];
}

/** Where instances can be reached now, the one that a thread belongs to first. */
export type Instances = () => readonly string[];

/** How long a user goes on trying to get one answer, in milliseconds. */
const patienceMs = 240_000;

/** Settings of a {@link User}. */
export interface Habits {
  readonly instances: Instances;
  /** Whether a refund was paid, as the payment service tells it. */
  readonly wasPaid: (amount: number) => boolean;
  /** How long it waits for the answer to a request, by how often it has tried before, in milliseconds. */
  readonly waitsMs?: (tries: number) => number;
  /** Whether it sends a message again without a look at what became of it. */
  readonly isBlind?: () => boolean;
}

/** A user of the service with one thread. Repeats a failed request, as a client has to, mostly after it has looked what became of it. */
export class User {
  readonly name: string;
  /** Last state that the service acknowledged. */
  seen: Shown = { messages: [], documents: [], questions: [], unfinished: false, underWay: [] };
  /** Answers by status or code, that made it try again. */
  readonly refusals = new Map<string, number>();
  readonly #habits: Required<Habits>;
  #last: Shown | undefined;

  constructor(name: string, habits: Habits) {
    this.name = name;
    this.#habits = { waitsMs: () => 40_000, isBlind: () => false, ...habits };
  }

  /** Sends a message, answers what is asked, and resolves with the state when the agent has answered. */
  async says(text: string): Promise<Shown> {
    // The same whenever it is sent again.
    const message = { path: "messages", body: { id: crypto.randomUUID(), text } };
    let next: { path: string; body: object } | undefined = message;
    const deadline = performance.now() + patienceMs;
    for (let tries = 0; ; tries += 1) {
      if (performance.now() > deadline)
        throw new Error(
          `${this.name}: no answer to ${JSON.stringify(text)} in time, but ${JSON.stringify([...this.refusals])}, and ${JSON.stringify(this.#last)}`,
        );
      let state: Shown | undefined;
      if (next !== undefined) state = await this.#post(next.path, next.body, tries);
      if (state === undefined && !(next === message && this.#habits.isBlind()))
        state = await this.#look(tries);
      this.#last = state ?? this.#last;
      if (state === undefined) {
        await sleep(100 + Math.random() * 200);
        continue;
      }
      const question: Question | undefined = state.questions[0];
      if (question !== undefined) next = { path: "answers", body: this.#answer(question) };
      else if (state.underWay.includes(message.body.id)) {
        next = undefined;
        await sleep(20 + Math.random() * 50);
      } else if (!state.messages.some(({ id }) => id === message.body.id)) next = message;
      else if (state.unfinished) next = { path: "resume", body: {} };
      else {
        this.seen = state;
        return state;
      }
    }
  }

  /** What the service shows of the thread, as soon as it can tell. */
  async look(): Promise<Shown> {
    for (let tries = 0; ; tries += 1) {
      const state = await this.#look(tries);
      if (state !== undefined) return state;
    }
  }

  #answer({ id, kind, args }: Question): object {
    if (kind === "approval") return { id, allow: true };
    return this.#habits.wasPaid(args.amount)
      ? { id, happened: true, result: `${args.amount} EUR were paid back` }
      : { id, happened: false };
  }

  async #post(path: string, body: object, tries: number): Promise<Shown | undefined> {
    const text = await this.#request(`/threads/main/${path}`, tries, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const [, state] = /event: state\ndata: (.*)/.exec(text ?? "") ?? [];
    if (state !== undefined) return JSON.parse(state) as Shown;
    const [, code] = /"code":"(\w+)"/.exec(text ?? "") ?? [];
    if (code !== undefined) this.#refused(code);
    return undefined;
  }

  async #look(tries: number): Promise<Shown | undefined> {
    const text = await this.#request("/threads/main", tries, {});
    return text === undefined ? undefined : (JSON.parse(text) as Shown);
  }

  async #request(path: string, tries: number, init: RequestInit): Promise<string | undefined> {
    const instances = this.#habits.instances();
    const base = instances[tries % instances.length]!;
    const headers = { ...init.headers, "x-user-id": this.name };
    const signal = AbortSignal.timeout(this.#habits.waitsMs(tries));
    try {
      const answer = await fetch(`${base}${path}`, { ...init, headers, signal });
      const text = await answer.text();
      if (answer.ok) return text;
      this.#refused(String(answer.status));
      if (answer.status < 409) throw new TypeError(`${path}: ${answer.status} ${text}`);
    } catch (error) {
      if (error instanceof TypeError && error.message.startsWith("/")) throw error;
      this.#refused("network");
    }
    return undefined;
  }

  #refused(how: string): void {
    this.refusals.set(how, (this.refusals.get(how) ?? 0) + 1);
  }
}
