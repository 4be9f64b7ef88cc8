import type { TierSaver } from "@stratigraph/core";
import { trace } from "@stratigraph/core/internal";
import { keptError } from "../errors.ts";
import type { Calls } from "../log/calls.ts";
import { isOpen, type CallState } from "../log/callState.ts";
import type { Call, Interrupts } from "../log/entry.ts";
import type { Decision, JournalLog, NewEvent } from "../log/journalLog.ts";
import type { Sealing } from "../log/sealing.ts";
import type { Reconciled } from "../options.ts";
import type { CallSite, PlannedCall } from "./plannedCall.ts";
import { eventOfCall } from "./resolve.ts";
import { isToolMessage, keptEnding, keptResult, type Ending, type KeptResult } from "./results.ts";
import { StoredResults, whyNoResult, type ResultToStore } from "./storedResults.ts";

/** The outcome of a call, for the trace. */
export type ToolCallOutcome =
  | "ran"
  | "replayed"
  | "denied"
  | "failed"
  | "suspended"
  | "unknown"
  | "unreconciled"
  | "unrecorded";

/** The data about a call that the trace needs. */
interface Traced {
  readonly request: Pick<Call, "tool" | "call" | "where">;
}

/** What else the trace is told. */
interface Told {
  readonly error?: unknown;
  /** Why the result isn't kept. */
  readonly notKept?: string | undefined;
}

/** Whether nothing more became known of a call since its state was read. */
export function isStillOpen(calls: Calls, { call, claim }: CallState): boolean {
  const now = calls.get(call);
  return now !== undefined && isOpen(now) && now.claim?.seq === claim?.seq;
}

/** Records the outcomes of the calls of one journal. */
export class Outcomes {
  readonly #log: JournalLog;
  readonly #results: StoredResults;

  constructor(saver: TierSaver, log: JournalLog, sealing: Sealing) {
    this.#log = log;
    this.#results = new StoredResults(saver, sealing);
  }

  /** The recorded result of a call that succeeded; undefined where it isn't kept. @throws StratigraphError "JOURNAL_BROKEN" */
  async resultOf(state: CallState): Promise<KeptResult | undefined> {
    return await this.#results.of(this.#log, state);
  }

  /** Records a call that needed no claim. */
  async read(planned: PlannedCall, outcome: Ending | { readonly error: unknown }, ms: number): Promise<void> {
    const { request, argsText, site } = planned;
    const stored = "value" in outcome ? await this.#stored(planned, outcome) : undefined;
    const event = {
      type: "read" as const,
      ...eventOfCall(request),
      ms,
      ...(stored === undefined
        ? { kept: false, error: keptError((outcome as { error: unknown }).error) }
        : { ...stored.fields, ...interruptsOf(site) }),
    };
    const events = [{ event, payload: { args: argsText, result: stored?.result }, author: site.author }];
    await this.#record(planned, () => this.#log.change(() => ({ events, answer: undefined }), site.mayBegin));
    this.tell(planned, stored === undefined ? "failed" : "ran", ms, { notKept: stored?.fields.notKept });
  }

  /**
   * Records a success. If somebody took the call over meanwhile, it is recorded as late.
   * @param claim number of the claim's entry
   * @returns the result of the process that took it over, if there is one
   */
  async success(
    planned: PlannedCall,
    claim: number,
    ending: Ending,
    ms: number,
  ): Promise<KeptResult | undefined> {
    const { request, site } = planned;
    const { call } = request;
    const stored = await this.#stored(planned, ending);
    const winner = await this.#record(planned, () =>
      this.#log.change((calls): { events: NewEvent[]; answer: CallState | undefined } => {
        const state = calls.get(call);
        const isOurs = state?.claim?.seq === claim && isOpen(state);
        const common = { call, claim, ...stored.fields };
        const event = isOurs
          ? { type: "succeeded" as const, ...common, ms, ...interruptsOf(site) }
          : { type: "late" as const, ...common, outcome: "succeeded" as const };
        const events = [{ event, payload: { result: stored.result }, author: site.author }];
        return { events, answer: isOurs || state?.status !== "succeeded" ? undefined : state };
      }, false),
    );
    if (winner !== undefined) return await this.resultOf(winner);
    this.tell(planned, "ran", ms, stored.fields);
    return undefined;
  }

  /**
   * Records a failure.
   * @param claim number of the claim's entry
   * @param certain whether it is certain that nothing happened
   * @param told the value by which the tool itself reported the failure
   */
  async failure(
    planned: PlannedCall,
    claim: number,
    error: unknown,
    certain: boolean,
    told?: unknown,
  ): Promise<void> {
    const { request, site } = planned;
    const { call } = request;
    const kept = keptError(error);
    const suspended = isBubbleUp(error) && planned.settles !== true;
    const stored = told === undefined ? undefined : await this.#stored(planned, { value: told });
    const outcome = (): NewEvent["event"] => {
      if (suspended) return { type: "suspended", call, claim };
      if (certain) {
        return { type: "failed", call, claim, error: kept, ...(stored?.fields ?? { kept: false }) };
      }
      const reason = site.signal?.aborted === true ? "aborted" : "error";
      return { type: "unknown", call, claim, reason, error: kept };
    };
    await this.#record(planned, () =>
      this.#log.change((calls) => {
        const state = calls.get(call);
        const isOurs = state?.claim?.seq === claim && state.status === "claimed";
        const event: NewEvent["event"] = isOurs
          ? outcome()
          : { type: "late", call, claim, outcome: "failed", kept: false, error: kept };
        const payload = event.type === "failed" ? { result: stored?.result } : {};
        return { events: [{ event, payload, author: site.author }], answer: undefined };
      }, false),
    );
    this.tell(planned, suspended ? "suspended" : certain ? "failed" : "unknown", 0, { error });
  }

  /** Records that calls happened whose results are asked for, and aren't kept: until somebody gives them, no equal call is made. */
  async lack(states: readonly CallState[]): Promise<void> {
    for (const state of states) await this.#lack(state);
  }

  async #lack(state: CallState): Promise<void> {
    const { call, result } = state;
    const notKept = await this.#log.change((calls): Decision<string | undefined> => {
      const now = calls.get(call);
      if (now?.status !== "succeeded" || now.result?.seq !== result?.seq)
        return { events: [], answer: undefined };
      const error = { name: "ResultNotKept", message: whyNoResult(now, calls) };
      const event = {
        type: "unknown" as const,
        call,
        claim: now.claim?.seq ?? 0,
        reason: "not kept" as const,
      };
      return { events: [{ event: { ...event, error } }], answer: error.message };
    });
    if (notKept !== undefined) this.tell({ request: state }, "unknown", 0, { notKept });
  }

  /**
   * Records the outcomes of calls whose outcome, or whose result, was unknown: all at once, or none if more is known of one of them.
   * @returns a result that was found out, if it can't be kept, and why. If a person gave it, nothing was recorded
   */
  async resolve(
    resolved: readonly { readonly state: CallState; readonly found: NonNullable<Reconciled> }[],
    by: "reconcile" | "person",
    { author }: Pick<CallSite, "author">,
  ): Promise<{ readonly result: KeptResult; readonly notKept: string } | undefined> {
    let unkept: { readonly result: KeptResult; readonly notKept: string } | undefined;
    const events: NewEvent[] = [];
    for (const { state, found } of resolved) {
      const result = found.happened ? keptResult(found.result, state.where.toolCallId) : undefined;
      const stored = result && (await this.#results.stored(() => result));
      const notKept = stored?.fields.notKept;
      if (result !== undefined && notKept !== undefined) unkept = { result, notKept };
      const event = {
        type: "resolved" as const,
        call: state.call,
        claim: state.claim?.seq ?? 0,
        by,
        happened: found.happened,
        ...(stored?.fields ?? { kept: false }),
      };
      events.push({ event, payload: { result: stored?.result }, author });
    }
    if (unkept !== undefined && by === "person") return unkept;
    await this.#log.change((calls) => {
      const areOpen = resolved.every(({ state }) => isStillOpen(calls, state));
      return { events: areOpen ? events : [], answer: undefined };
    });
    return unkept;
  }

  /** Publishes the outcome of a call on the diagnostics channel. */
  tell({ request }: Traced, outcome: ToolCallOutcome, ms: number, more: Told = {}): void {
    const { error, notKept } = more;
    const { tool, call, where } = request;
    trace({
      type: "tool-call",
      threadId: this.#log.threadId,
      tool,
      fingerprint: call,
      toolCallId: where.toolCallId,
      outcome,
      ms,
      ...(error === undefined ? {} : { error }),
      ...(notKept === undefined ? {} : { notKept }),
    });
  }

  async #stored({ request, site }: PlannedCall, ending: Ending): Promise<ResultToStore> {
    return await this.#results.stored(() => keptEnding(ending, request.where.toolCallId, site.namespace));
  }

  /** Records an outcome. The call has already run, so an error of the storage is only traced, and the claim stays unchanged. */
  async #record<T>(planned: PlannedCall, record: () => Promise<T>): Promise<T | undefined> {
    try {
      return await record();
    } catch (error) {
      this.tell(planned, "unrecorded", 0, { error });
      return undefined;
    }
  }
}

/** The interrupts of its tool that a success records. */
function interruptsOf({ task, interrupts }: CallSite): { interrupts?: Interrupts } {
  const times = interrupts?.() ?? 0;
  return task === undefined || times === 0 ? {} : { interrupts: { task, times } };
}

/** Whether an error proves that nothing happened. */
export async function isCertain(
  { options: { certain }, refused }: Pick<PlannedCall, "options" | "refused">,
  error: unknown,
): Promise<boolean> {
  if (isBubbleUp(error)) return false;
  const { certain: marked } = Object(error) as { certain?: unknown };
  if (marked === true) return true;
  try {
    if ((await refused?.(error)) === true) return true;
    return certain?.(error) === true;
  } catch {
    return false;
  }
}

/** Whether an error is one by which LangGraph stops a node, such as an interrupt. */
export function isBubbleUp(error: unknown): boolean {
  const { name, is_bubble_up: marked } = Object(error) as { name?: unknown; is_bubble_up?: unknown };
  return marked === true || name === "GraphInterrupt" || name === "NodeInterrupt";
}

/** Whether an error carries a Command to a surrounding graph: the code that threw it had finished. */
export function isParentCommand(error: unknown): error is { readonly command: unknown } {
  return (Object(error) as { name?: unknown }).name === "ParentCommand";
}

/** Runs the work of a call to its end. @throws what it throws, except Commands */
export async function endingOf(work: () => unknown): Promise<Ending> {
  try {
    return { value: await work() };
  } catch (error) {
    if (!isParentCommand(error)) throw error;
    return { value: error.command, thrown: error };
  }
}

/** The message by which a tool reports its own failure; undefined for any other value. */
export function toldFailure({ request }: PlannedCall, value: unknown): { content: unknown } | undefined {
  return request.where.toolCallId !== undefined && isToolMessage(value) && value.status === "error"
    ? value
    : undefined;
}
