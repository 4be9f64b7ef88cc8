import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StratigraphError } from "@stratigraph/core";
import { CallFront, type PlacedCall } from "../callFront.ts";
import type { CallOutcome } from "../calls/plannedCall.ts";
import { fingerprintOf, fingerprintOfNamed, type Digest } from "../identity/fingerprint.ts";
import type { Task } from "../langgraph/taskConfig.ts";
import { lacksResult, type CallState } from "../log/callState.ts";
import type { KeptError, Where } from "../log/entry.ts";
import type { Sealing } from "../log/sealing.ts";
import type { CallOptions, Policy } from "../options.ts";
import { compareRuns, type RunComparison } from "./compareRuns.ts";
import { judgeCalls, type Judgement } from "./judge.ts";
import { shown, type RecordedCall, type Recording } from "./recording.ts";

/** Options of a replay. */
export interface ReplayOptions {
  /**
   * What happens to a call that wasn't recorded: "throw" (default) ends the replay with a {@link ReplayDivergedError}; "run" runs it, and
   * the replay goes on. Even under "run", a call with the effects "once" that may have happened, or was denied, isn't run if the recording
   * lacks its result.
   */
  readonly onMiss?: "throw" | "run" | undefined;
  /** Revives recorded results: the recorded checkpointer's serde, if it has types of its own. Default: Stratigraph's. */
  readonly serde?: SerializerProtocol | undefined;
}

/** A call of a replayed run. */
export interface ReplayedCall {
  readonly fingerprint: Digest;
  readonly tool: string;
  readonly args: unknown;
  /** "recorded": it got the recorded result; "ran": it wasn't recorded, and was run; "diverged": it was neither recorded nor run. */
  readonly outcome: "recorded" | "denied" | "failed" | "ran" | "diverged";
  readonly where: Where;
}

/**
 * A replayed run made a call that wasn't recorded. `data`: tool, args, previous, expected: the recorded calls that stand at the same
 * place of the chain.
 */
export class ReplayDivergedError extends StratigraphError {
  constructor(
    tool: string,
    args: unknown,
    previous: string,
    expected: readonly { tool: string; args: unknown }[],
    recorded?: CallState["status"],
    mustNotRun = false,
  ) {
    const there = expected.map((call) => `${call.tool}(${JSON.stringify(call.args)})`).join(", ");
    super(
      "REPLAY_DIVERGED",
      `The replayed run calls ${tool}(${JSON.stringify(args)}), ` +
        (recorded !== undefined
          ? `of which the recording has no result (${recorded}): it was exported before the call ended, or the result wasn't kept, or was erased or cut off. `
          : there === ""
            ? "which wasn't recorded. The recording has no call at this place: it ends before, or the run took another way earlier. "
            : `which wasn't recorded. At this place the recording has ${there}. `) +
        (mustNotRun
          ? `The recording tells that such a call may have happened, or was denied, so it isn't run.`
          : `Nothing ran. Replay with the code, the input and the thread's state of the recording, or with onMiss: "run".`),
      { tool, args, previous, expected },
    );
    this.name = "ReplayDivergedError";
  }
}

/** Statuses of a call that happened, may have happened, or must not happen. */
const notToRun: readonly CallState["status"][] = ["succeeded", "claimed", "unknown", "repeats", "denied"];

/** A call failed when it was recorded, and fails again in the replay. `data`: tool, error. */
class ReplayedFailure extends Error {
  constructor({ name, message }: KeptError) {
    super(message);
    this.name = name;
  }
}

/**
 * Runs graphs on recorded results: no tool runs, so it works on a machine without access to the tools' services. Give the graph
 * `replay.tools(…)`, `replay.channel` and so on in place of the journal's, and run it within {@link follow}.
 */
export class Replay extends CallFront {
  readonly #recording: Recording;
  readonly #sealing: Sealing;
  readonly #onMiss: "throw" | "run";
  readonly #made: ReplayedCall[] = [];
  readonly #asked = new Set<Digest>();
  /** Calls that code named, by the task that made them. */
  readonly #found = new WeakMap<object, Map<string, Digest>>();
  readonly #taken = new Set<Digest>();
  #diverged: ReplayDivergedError | undefined;

  /** @throws StratigraphError "KEY_MISSING" */
  constructor(recording: Recording, sealing: Sealing, onMiss: "throw" | "run") {
    super();
    this.#recording = recording;
    this.#sealing = sealing;
    // Without the key with which fingerprints are hashed, no call would be found.
    sealing.known("any", recording.knownBy);
    this.#onMiss = onMiss;
  }

  /** The calls that were made so far, in their order. */
  get calls(): readonly ReplayedCall[] {
    return this.#made;
  }

  /** The first call that ended the replay; undefined if none did. */
  get diverged(): ReplayDivergedError | undefined {
    return this.#diverged;
  }

  /** Recorded calls that the replayed runs didn't make. */
  unused(): readonly { readonly tool: string; readonly args: unknown; readonly where: Where }[] {
    return this.#recording
      .all()
      .filter(({ state }) => !this.#asked.has(state.call))
      .map((call) => ({ ...shown(call), where: call.state.where }));
  }

  /**
   * Runs a graph, and throws if it made a call that wasn't recorded: LangGraph's ToolNode shows errors of tools to the model, and would
   * hide this one.
   * @throws ReplayDivergedError
   */
  async follow<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } finally {
      // oxlint-disable-next-line no-unsafe-finally -- what the graph made of the divergence is of no interest
      if (this.#diverged !== undefined) throw this.#diverged;
    }
  }

  /** Returns what another policy would decide about the recorded calls. Nothing runs. */
  async judge(policy: Policy): Promise<readonly Judgement[]> {
    return await judgeCalls(this.#recording, policy);
  }

  /** Compares this recording with another one: of two models or prompts, for instance. Nothing runs. */
  async compare(other: Replay): Promise<RunComparison> {
    return await compareRuns(this.#recording, other.#recording);
  }

  protected override async call(
    task: Task,
    _config: unknown,
    { tool, version, argsText, given, place, toolCallId }: PlacedCall,
    _options: CallOptions,
    work: (args: unknown) => unknown,
  ): Promise<CallOutcome> {
    const args: unknown = JSON.parse(argsText);
    const { previous: plain, nth, isNamed = false } = place;
    const { knownBy } = this.#recording;
    const previous = this.#sealing.known(plain, knownBy);
    const fingerprint = isNamed
      ? this.#named(task, previous, argsText)
      : this.#sealing.known(fingerprintOf({ tool, version, args, previous: plain, nth }), knownBy);
    const where = toolCallId === undefined ? task.where : { ...task.where, toolCallId };
    const note = (outcome: ReplayedCall["outcome"]): void => {
      this.#made.push({ fingerprint, tool, args, outcome, where });
    };
    // After the first difference, the run may no longer be the recorded one.
    if (this.#diverged !== undefined) throw this.#diverged;
    const recorded = this.#recording.get(fingerprint);
    const outcome = recorded === undefined ? undefined : await this.#outcomeOf(recorded, note);
    if (outcome !== undefined) {
      this.#asked.add(fingerprint);
      return outcome;
    }
    const status = recorded?.state.status;
    // At any place of the recording: after the first difference, the same call is at another place.
    const mustNotRun = this.#recording
      .all()
      .some(
        ({ state, args: made }) =>
          state.effects === "once" &&
          notToRun.includes(state.status) &&
          state.tool === tool &&
          (made === undefined ? this.#mayBe(state, argsText) : made === argsText),
      );
    if (this.#onMiss === "run" && !mustNotRun) {
      note("ran");
      return { kind: "ran", value: await work(JSON.parse(given)) };
    }
    note("diverged");
    const expected = this.#recording
      .all()
      .filter((call) => call.state.previous === previous && !this.#asked.has(call.state.call));
    this.#diverged = new ReplayDivergedError(tool, args, previous, expected.map(shown), status, mustNotRun);
    throw this.#diverged;
  }

  /** Whether these arguments may be those that were erased. */
  #mayBe({ argsHash }: CallState, argsText: string): boolean {
    const hasNoKey = this.#recording.isSigned && this.#sealing.activeKey === undefined;
    return hasNoKey || this.#sealing.isHashOf(argsHash, argsText);
  }

  /**
   * The recorded call for a name that a task uses: the same one each time; for another task, the next one with the same arguments.
   */
  #named({ where, attempt = this }: Task, previous: string, argsText: string): Digest {
    const { checkpoint, namespace, issuer, task } = where;
    const key = JSON.stringify([previous, argsText, checkpoint, namespace, issuer, task]);
    const found = this.#found.get(task === undefined ? attempt : this) ?? new Map<string, Digest>();
    this.#found.set(task === undefined ? attempt : this, found);
    const known = found.get(key);
    if (known !== undefined) return known;
    const next = this.#recording
      .named(previous)
      .find(({ state, args = argsText }) => args === argsText && !this.#taken.has(state.call));
    const call = next?.state.call ?? fingerprintOfNamed(previous, this.#taken.size, -1);
    found.set(key, call);
    this.#taken.add(call);
    return call;
  }

  /** The outcome of a recorded call; undefined if the recording lacks it. @throws what the call threw */
  async #outcomeOf(
    recorded: RecordedCall,
    note: (outcome: ReplayedCall["outcome"]) => void,
  ): Promise<CallOutcome | undefined> {
    const { state } = recorded;
    if (state.status === "denied") {
      note("denied");
      return { kind: "denied", reason: state.error?.message ?? "" };
    }
    // A call whose outcome is unknown threw, too, if its process stayed alive.
    const hasFailed = state.status === "failed" || (state.status === "unknown" && !lacksResult(state));
    if (hasFailed && state.error !== undefined && recorded.result === undefined) {
      note("failed");
      this.#asked.add(state.call);
      throw new ReplayedFailure(state.error);
    }
    const ended = state.status === "succeeded" || state.status === "failed";
    const result = ended ? await this.#recording.resultOf(recorded) : undefined;
    if (result === undefined) return undefined;
    note(state.status === "failed" ? "failed" : "recorded");
    return { kind: "recorded", result };
  }
}
