import type { Manifest } from "../encode/checkpointCoder.ts";
import { firstVersion, type LooseValue, type ManifestEntry } from "../encode/record.ts";
import type { Address } from "../contract/tier.ts";
import { TASKS } from "@langchain/langgraph-checkpoint";
import { unknownVersion } from "./errors.ts";
import {
  namesOf,
  type StateStep,
  type StateValue,
  type StateVersionsOptions,
  type ValueChange,
} from "./options.ts";

/** LangGraph's channel for the input of a run: an object of updates by channel. */
export const inputChannel = "__start__";

/** A function of a step, in the direction in which it is used. */
export type Change = (value: unknown, about: StateValue) => unknown;

/** A change of channels, in the direction in which it is used. */
export interface Move {
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** Whether the function takes, or returns, an object by channel. */
  readonly takesMany: boolean;
  readonly makesMany: boolean;
  /** Undefined: the value stays. */
  readonly change: Change | undefined;
  /** Whether its channels have reducers; undefined if nobody said so. */
  readonly reduced: boolean | undefined;
}

/** A step, in the direction in which it is used, for one graph. */
export interface Stage {
  readonly from: number;
  readonly to: number;
  readonly moves: readonly Move[];
  /** A function, or false if there is one for the other direction only. */
  readonly interrupts: Change | false | undefined;
  readonly answers: Change | false | undefined;
  readonly sends: Change | false | undefined;
}

/** A namespace without ids of tasks: which graph of the application it belongs to. */
function graphOf(namespace: string): string {
  return namespace.replaceAll(/:[^|]*/g, "");
}

/** The version of the state of an application, and the ways to it from others. */
export class StateVersions {
  readonly current: number;
  readonly #steps: ReadonlyMap<number, StateStep>;

  constructor({ current, steps }: StateVersionsOptions = { current: firstVersion, steps: [] }) {
    this.current = current;
    this.#steps = new Map(steps.map((step) => [step.to, step]));
  }

  /** The stages from a version to this application's, or another. @throws StratigraphError "STATE_VERSION" */
  path(at: Address, found: number, wanted = this.current): readonly Stage[] {
    const stages: Stage[] = [];
    const graph = graphOf(at.namespace);
    for (let version = found; version < wanted; version += 1) {
      const step = this.#steps.get(version + 1);
      if (step === undefined) throw unknownVersion(at, found, this.current, version + 1);
      stages.push(stageOf(step, graph, "up"));
    }
    for (let version = found; version > wanted; version -= 1) {
      const step = this.#steps.get(version);
      if (step === undefined || !leadsDown(step, graph))
        throw unknownVersion(at, found, this.current, version);
      stages.push(stageOf(step, graph, "down"));
    }
    return stages;
  }

  /** Whether state of a version can be led to this application's, or another. */
  knows(at: Address, found: number, wanted = this.current): boolean {
    try {
      this.path(at, found, wanted);
      return true;
    } catch {
      return false;
    }
  }

  /** The names that a channel of this application's has in state of another version; none if it is added on the way. */
  sourcesOf(at: Address, channel: string, found: number): readonly string[] {
    let names = [channel];
    for (const { moves } of [...this.path(at, found)].reverse())
      names = names.flatMap((name) => moves.find(({ to }) => to.includes(name))?.from ?? [name]);
    return names;
  }

  /**
   * A manifest in this application's names. Of a channel whose value changed on the way, the entry has no version: its value isn't carried
   * over, and serves as the base of a patch alone.
   * @throws StratigraphError "STATE_VERSION"
   */
  manifest(at: Address, found: number, manifest: Manifest): Manifest {
    if (found === this.current || manifest.size === 0) return manifest;
    let entries = manifest;
    for (const { moves, sends } of this.path(at, found)) {
      const taken = new Set(moves.flatMap(({ from }) => from));
      const next = new Map([...entries].filter(([channel]) => !taken.has(channel)));
      const changed = [
        ...(sends === undefined ? [] : [TASKS]),
        ...(moves.length === 0 ? [] : [inputChannel]),
      ];
      for (const channel of changed) {
        const entry = next.get(channel);
        if (entry !== undefined) next.set(channel, { ...entry, version: undefined });
      }
      for (const move of moves) {
        const [first] = move.from.flatMap((name): ManifestEntry[] => {
          const entry = entries.get(name);
          return entry === undefined ? [] : [entry];
        });
        if (first === undefined) continue;
        const version = isRename(move) ? first.version : undefined;
        for (const channel of move.to) next.set(channel, { channel, version, value: first.value });
      }
      entries = next;
    }
    return entries;
  }

  /** Values of best-effort channels that a checkpoint under this version can name as its own: those that no step changes. */
  loose(
    at: Address,
    found: number,
    loose: readonly LooseValue[] | undefined,
  ): readonly LooseValue[] | undefined {
    if (found === this.current || loose === undefined) return loose;
    const touched = new Set(
      this.path(at, found).flatMap(({ moves }) => moves.flatMap(({ from, to }) => [...from, ...to])),
    );
    return loose.filter(({ channel }) => !touched.has(channel));
  }
}

/** For tools, which show state as it is stored: no value is changed, and no version is unknown. */
export class AsStored extends StateVersions {
  override path(): readonly Stage[] {
    return [];
  }
}

function isRename({ from, to, change }: Move): boolean {
  return from.length === 1 && to.length === 1 && change === undefined;
}

/** Whether each change of a step can be undone: renames and additions by themselves, others if they have a function for it. */
function leadsDown({ changes = [] }: StateStep, graph: string): boolean {
  return changes
    .filter(({ namespace = graph }) => namespace === graph)
    .every(
      ({ from, to, up, down }) =>
        from === undefined || down !== undefined || (up === undefined && to !== undefined),
    );
}

function stageOf(step: StateStep, graph: string, direction: "up" | "down"): Stage {
  const isUp = direction === "up";
  const moves = (step.changes ?? [])
    .filter(({ namespace = graph }) => namespace === graph)
    .map((change): Move => {
      const [from, to] = isUp ? [change.from, change.to] : [change.to, change.from];
      return {
        from: namesOf(from),
        to: namesOf(to),
        takesMany: Array.isArray(from),
        makesMany: Array.isArray(to),
        change: directed(change, direction) || undefined,
        reduced: change.reduced,
      };
    });
  const { interrupts, answers, sends } = step;
  return {
    from: isUp ? step.to - 1 : step.to,
    to: isUp ? step.to : step.to - 1,
    moves,
    interrupts: directed(interrupts, direction),
    answers: directed(answers, direction),
    sends: directed(sends, direction),
  };
}

function directed(change: ValueChange | undefined, direction: "up" | "down"): Change | false | undefined {
  if (change === undefined) return undefined;
  // Called on the object that has it, as it may be a method.
  return change[direction] === undefined ? false : (value, about) => change[direction]!(value, about);
}
