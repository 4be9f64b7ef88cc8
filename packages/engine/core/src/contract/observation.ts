import { trace, traced, type TraceEvent } from "./trace.ts";

/** The beginning of an operation of a saver, or of a call of a tier. */
export type Begun = Extract<TraceEvent, { readonly type: "operation-start" | "call-start" }>;

/** The end of what a {@link Begun} began. */
export type Ended = Extract<TraceEvent, { readonly type: "operation" | "call" }>;

/** Makes spans of what savers and tiers do. `observe()` of `@stratigraph/service` has one for OpenTelemetry. */
export interface Tracer {
  /** Called when an operation or a call begins. The tracer finds the span around it by its own asynchronous context. */
  begin(event: Begun): Span;
}

/** One operation or call, as a {@link Tracer} follows it. */
export interface Span {
  /** Calls `work` at once and returns what it returns. While that runs, this span is the active one. May be called again. */
  run<T>(work: () => T): T;
  /** Called once, when all is done. */
  end(event: Ended): void;
}

/** Where the tracer is kept: the ES modules and the CommonJS modules of a process have to find the same one. */
const key = Symbol.for("stratigraph.tracer");
const global = globalThis as { [key]?: Tracer | undefined };

/**
 * From now on, all that savers and tiers of this process do becomes spans; undefined ends that. There is one tracer in a process. A tracer
 * that throws disturbs nothing: a "hook" event reports it.
 */
export function setTracer(tracer: Tracer | undefined): void {
  global[key] = tracer;
}

/** The tracer of this process. */
export function currentTracer(): Tracer | undefined {
  return global[key];
}

let count = 0;

/** A {@link Begun} without its id. */
type About<B extends Begun> = B extends Begun ? Omit<B, "id"> : never;

/** What is known of an operation or call only at its end. */
type Found<B extends Begun> = Partial<
  Omit<Extract<Ended, { readonly type: EndOf<B> }>, "type" | "id" | "ms" | keyof About<B>>
>;

/** How work ended. */
type Outcome<T> = { readonly answer: T } | { readonly error: unknown };

type EndOf<B extends Begun> = B["type"] extends "call-start" ? "call" : "operation";

/** Publishes how an operation of a saver or a call of a tier began and ended, and has the tracer follow it. */
export class Observation<B extends Begun> {
  readonly #begun: B;
  readonly #span: Span | undefined;
  #ms = 0;

  private constructor(begun: B) {
    this.#begun = begun;
    trace(begun);
    this.#span = guarded(() => currentTracer()?.begin(begun));
  }

  /** Undefined if nobody watches: then it costs nothing. */
  static of<B extends Begun>(about: About<B>): Observation<B> | undefined {
    if (!traced() && currentTracer() === undefined) return undefined;
    count += 1;
    return new Observation({ ...about, id: count } as unknown as B);
  }

  /**
   * Does the work, and ends with it.
   * @param found returns what is known at the end, of the answer or of the error
   */
  async run<T>(work: () => Promise<T>, found: (end: Outcome<T>) => Found<B>): Promise<T> {
    let end: Outcome<T> | undefined;
    try {
      const answer = await this.#part(work);
      end = { answer };
      return answer;
    } catch (error) {
      end = { error };
      throw error;
    } finally {
      this.#end(found(end!));
    }
  }

  /**
   * As {@link run}, step by step: what the consumer does between two steps isn't part of it.
   * @param found returns what is known at the end; the error is undefined if there was none, also if the consumer stopped early
   */
  async *iterate<T>(
    steps: AsyncIterator<T>,
    found: (end: { readonly error?: unknown }) => Found<B>,
  ): AsyncGenerator<T> {
    let end = {};
    try {
      for (;;) {
        const step = await this.#part(() => steps.next());
        if (step.done === true) return;
        yield step.value;
      }
    } catch (error) {
      end = { error };
      throw error;
    } finally {
      this.#end(found(end));
      await steps.return?.();
    }
  }

  /** Does a part of the work, and counts the time that it takes. */
  async #part<T>(work: () => Promise<T>): Promise<T> {
    const beganMs = performance.now();
    try {
      return await this.#active(work);
    } finally {
      this.#ms += performance.now() - beganMs;
    }
  }

  #end(found: Found<B>): void {
    const type = this.#begun.type === "call-start" ? "call" : "operation";
    const known = Object.entries(found).filter(([, value]) => value !== undefined);
    const ended = { ...this.#begun, ...Object.fromEntries(known), type, ms: this.#ms } as unknown as Ended;
    trace(ended);
    guarded(() => this.#span?.end(ended));
  }

  #active<T>(work: () => Promise<T>): Promise<T> {
    const span = this.#span;
    if (span === undefined) return work();
    let begun: Promise<T> | undefined;
    // If the tracer fails before it has called the work, the work runs all the same, and never twice.
    const once = (): Promise<T> => (begun ??= work());
    guarded(() => span.run(once));
    return once();
  }
}

/** How a call of a tier is watched. */
export type CallObservation = Observation<Extract<Begun, { readonly type: "call-start" }>>;

/** How an operation of a saver is watched. */
export type OperationObservation = Observation<Extract<Begun, { readonly type: "operation-start" }>>;

/** Calls a tracer. What it throws is reported, and disturbs nobody. */
function guarded<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    trace({ type: "hook", hook: "tracer", error });
    return undefined;
  }
}
