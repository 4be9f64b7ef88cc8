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
  messages: { role: string; text: string }[];
  documents: string[];
  questions: Question[];
  unfinished: boolean;
}

/** Where instances can be reached now, the one that a thread belongs to first. */
export type Instances = () => readonly string[];

/** How long a user goes on trying one request, in milliseconds. */
const patienceMs = 90_000;

/** A user of the service with one thread. Repeats a failed request, as a client has to, after it has checked what became of it. */
export class User {
  readonly name: string;
  /** Last state that the service acknowledged. */
  seen: Shown = { messages: [], documents: [], questions: [], unfinished: false };
  /** Answers by status or code, that made it try again. */
  readonly refusals = new Map<string, number>();
  readonly #instances: Instances;
  /** Whether a refund was paid, as the payment service tells it. */
  readonly #wasPaid: (amount: number) => boolean;

  constructor(name: string, instances: Instances, wasPaid: (amount: number) => boolean) {
    this.name = name;
    this.#instances = instances;
    this.#wasPaid = wasPaid;
  }

  /** Sends a message, answers what is asked, and resolves with the state when the agent has answered. */
  async says(text: string): Promise<Shown> {
    const had = this.seen.messages.length;
    let next: { path: string; body: object } | undefined = { path: "messages", body: { text } };
    const deadline = performance.now() + patienceMs;
    for (let turn = 0; ; turn += 1) {
      if (performance.now() > deadline)
        throw new Error(`${this.name}: no answer to ${JSON.stringify(text)} in time`);
      const state: Shown | undefined =
        (next === undefined ? undefined : await this.#post(next.path, next.body, turn)) ??
        (await this.#look(turn));
      if (state === undefined) {
        await sleep(100 + Math.random() * 200);
        continue;
      }
      const isHeard = state.messages.length > had && state.messages.some((message) => message.text === text);
      const question: Question | undefined = state.questions[0];
      if (!isHeard) next = { path: "messages", body: { text } };
      else if (question !== undefined) next = { path: "answers", body: this.#answer(question) };
      else if (state.unfinished) next = { path: "resume", body: {} };
      else {
        this.seen = state;
        return state;
      }
    }
  }

  /** What the service shows of the thread; undefined where no instance can tell now. */
  async look(): Promise<Shown | undefined> {
    return await this.#look(0);
  }

  #answer({ id, kind, args }: Question): object {
    if (kind === "approval") return { id, allow: true };
    return this.#wasPaid(args.amount)
      ? { id, happened: true, result: `${args.amount} EUR were paid back` }
      : { id, happened: false };
  }

  async #post(path: string, body: object, turn: number): Promise<Shown | undefined> {
    const text = await this.#request(`/threads/main/${path}`, turn, {
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

  async #look(turn: number): Promise<Shown | undefined> {
    const text = await this.#request("/threads/main", turn, {});
    return text === undefined ? undefined : (JSON.parse(text) as Shown);
  }

  async #request(path: string, turn: number, init: RequestInit): Promise<string | undefined> {
    const instances = this.#instances();
    const base = instances[turn % instances.length]!;
    const headers = { ...init.headers, "x-user-id": this.name };
    try {
      const answer = await fetch(`${base}${path}`, { ...init, headers, signal: AbortSignal.timeout(40_000) });
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
