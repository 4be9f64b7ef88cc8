import { checkOptions, kindOf, shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import { isLangGraphChannel } from "../langgraph/channelNames.ts";

/** What a function of a {@link StateStep} is given, and where it was found. */
export interface StateValue {
  /**
   * "value": what a channel holds. "write": an update of a channel, as a node returned it or a caller gave it, before the channel's
   * reducer. "interrupt": the value of an `interrupt()` that waits. "answer": what a caller resumed it with. "send": the arguments of a
   * `Send` that is due.
   */
  readonly kind: "value" | "write" | "interrupt" | "answer" | "send";
  readonly threadId: string;
  /** `""` for the root graph. */
  readonly namespace: string;
  readonly checkpointId: string;
  /** The channel, or several with commas between them. Of a "send", its node. */
  readonly channel: string;
  /** The version that the value has, and the one that it is to have. They differ by one. */
  readonly from: number;
  readonly to: number;
}

/** Functions that change a value. They must not change the one that they are given. Undefined stands for no value. */
export interface ValueChange {
  /** From the version before the step to that of the step. */
  up?(value: unknown, about: StateValue): unknown;
  /** From the version of the step to the one before, for an application that is still at that. */
  down?(value: unknown, about: StateValue): unknown;
}

/**
 * What becomes of channels: `{ from: "name", to: "fullName" }` renames, the same name and `up` change a value, `from` alone removes, `to`
 * alone adds, and lists split and join. With a list as `to`, `up` returns an object of values by channel. With a list as `from`, it is
 * given one, of those that have a value. A channel that isn't there changes nothing.
 */
export interface ChannelChange extends ValueChange {
  readonly from?: string | readonly string[] | undefined;
  readonly to?: string | readonly string[] | undefined;
  /**
   * The graph that has these channels: `""` for the root, `"research"` for the subgraph of that node, `"research|search"` for one in it.
   * Default: all.
   */
  readonly namespace?: string | undefined;
  /**
   * Of a change with a list: whether its channels have reducers, so that an update of one isn't its value. `false`: what a step didn't write
   * is given as the channel holds it. `true`: of an update, only what a task wrote is given. Default: `false` for text and
   * booleans, `true` for DeltaChannels; else a step that wrote only some of the channels is refused.
   */
  readonly reduced?: boolean | undefined;
}

/** What turns state of one version into that of the next. */
export interface StateStep {
  /** The version that it leads to, from the one before. */
  readonly to: number;
  readonly changes?: readonly ChannelChange[] | undefined;
  /** Changes the values of interrupts that wait. */
  readonly interrupts?: ValueChange | undefined;
  /** Changes what was answered to interrupts whose nodes haven't ended. */
  readonly answers?: ValueChange | undefined;
  /** Changes the arguments of Sends that are due. */
  readonly sends?: ValueChange | undefined;
}

/** The version of an application's state, and how older state becomes it. */
export interface StateVersionsOptions {
  /** The version of the state that this application reads and writes. State that was stored without a version is of version 1. */
  readonly current: number;
  /** In ascending order and without gaps, up to `current` at least. Steps beyond it serve to read newer state, by their `down`. */
  readonly steps: readonly StateStep[];
}

const optionNames: OptionNames<StateVersionsOptions> = { current: true, steps: true };
const stepNames: OptionNames<StateStep> = {
  to: true,
  changes: true,
  interrupts: true,
  answers: true,
  sends: true,
};
const changeNames: OptionNames<ChannelChange> = {
  from: true,
  to: true,
  namespace: true,
  up: true,
  down: true,
  reduced: true,
};
const valueNames: OptionNames<ValueChange> = { up: true, down: true };

const optionAdvice = { version: "Write current.", upcasts: "Write steps.", migrations: "Write steps." };
const stepAdvice = {
  version: "Write to.",
  channels: "Write changes.",
  from: "It begins at the version before to.",
};

/** LangGraph's channel for what an entrypoint saves: the one of its channels that holds a user's value. */
const previous = "__previous__";

function refuse(field: string, found: unknown, advice: string): never {
  throw new InvalidOptionError(field, typeof found === "string" ? found : kindOf(found), advice);
}

/** A list of names; undefined if there is none. */
export function namesOf(names: string | readonly string[] | undefined): readonly string[] {
  return names === undefined ? [] : typeof names === "string" ? [names] : names;
}

/** @throws InvalidOptionError that names the field, what was found and what to do */
export function checkStateVersions(given: StateVersionsOptions): StateVersionsOptions {
  const field = "stateVersions";
  if (given === null)
    refuse(field, given, "Pass an object: { current: 2, steps: [{ to: 2, changes: [] }] }.");
  checkOptions(field, given, optionNames, optionAdvice, field);
  const { current, steps } = given;
  if (!Number.isSafeInteger(current) || current < 1)
    refuse(`${field}.current`, current, "Pass a whole number from 1 on: the version of your state.");
  if (!Array.isArray(steps))
    refuse(`${field}.steps`, steps, "Pass a list of steps: [{ to: 2, changes: [] }].");
  const known = new KnownChannels();
  let before: number | undefined;
  for (const [n, step] of steps.entries()) {
    const at = `${field}.steps[${n}]`;
    if (step === undefined || step === null) refuse(at, step, "Pass a step: { to: 2, changes: [] }.");
    checkOptions("A step", step, stepNames, stepAdvice, at);
    if (!Number.isSafeInteger(step.to) || step.to < 2)
      refuse(`${at}.to`, step.to, "Pass the version that the step leads to: a whole number from 2 on.");
    if (before !== undefined && step.to !== before + 1)
      refuse(
        `${at}.to`,
        String(step.to),
        step.to <= before
          ? `A step to ${before} comes before it. Give each version one step, in ascending order.`
          : `The step before it leads to ${before}. Add the step to ${before + 1}, with no changes if nothing changed.`,
      );
    before = step.to;
    checkValueChange(`${at}.interrupts`, step.interrupts);
    checkValueChange(`${at}.answers`, step.answers);
    checkValueChange(`${at}.sends`, step.sends);
    checkChanges(`${at}.changes`, step, known);
  }
  if (current > 1 && (before ?? 1) < current)
    refuse(
      `${field}.steps`,
      before === undefined ? "no steps" : `steps up to ${before}`,
      `The state is at version ${current}. Add the steps that lead to it.`,
    );
  if (steps.length > 0 && steps[0]!.to > current + 1)
    refuse(
      `${field}.steps[0].to`,
      String(steps[0]!.to),
      `The state is at version ${current}. Add the step to ${current + 1}.`,
    );
  return { current, steps: [...steps] };
}

function checkValueChange(field: string, change: ValueChange | undefined): void {
  if (change === undefined) return;
  if (change === null) refuse(field, change, "Pass { up } or { up, down }.");
  checkOptions(field, change, valueNames, {}, field);
  checkFunctions(field, change);
  if (change.up === undefined && change.down === undefined)
    refuse(field, "neither", "Give it up, down or both.");
}

function checkFunctions(field: string, { up, down }: ValueChange): void {
  for (const [name, found] of Object.entries({ up, down }))
    if (found !== undefined && typeof found !== "function")
      refuse(`${field}.${name}`, found, "Pass a function of a value.");
}

function checkChanges(field: string, { to: version, changes }: StateStep, known: KnownChannels): void {
  if (changes === undefined) return;
  if (!Array.isArray(changes)) refuse(field, changes, 'Pass a list: [{ from: "name", to: "fullName" }].');
  for (const [n, change] of changes.entries()) checkChange(`${field}[${n}]`, change);
  known.take(field, version, changes);
}

function checkChange(field: string, change: ChannelChange): void {
  if (change === undefined || change === null)
    refuse(field, change, 'Pass { from: "name", to: "fullName" }.');
  const advice = { rename: "Write to.", split: "Write to, with a list of names.", remove: "Leave out to." };
  checkOptions("A change", change, changeNames, advice, field);
  checkFunctions(field, change);
  const [from, to] = [checkedNames(`${field}.from`, change.from), checkedNames(`${field}.to`, change.to)];
  if (from.length + to.length === 0)
    refuse(field, "neither from nor to", "Name the channels that it takes from the state, or puts there.");
  const isSame = from.length === 1 && to.length === 1 && from[0] === to[0];
  for (const name of [...from, ...to])
    if (isLangGraphChannel(name) && !(isSame && name === previous))
      refuse(field, name, "It is LangGraph's own channel. Name channels of your state.");
  if (
    change.namespace !== undefined &&
    (typeof change.namespace !== "string" || change.namespace.includes(":"))
  )
    refuse(
      `${field}.namespace`,
      shown(change.namespace),
      'Pass the names of the nodes without ids of tasks: "" for the root, "research", "research|search".',
    );
  if (change.reduced !== undefined && typeof change.reduced !== "boolean")
    refuse(`${field}.reduced`, change.reduced, "Pass true if its channels have reducers, else false.");
  if (change.reduced !== undefined && from.length < 2 && to.length < 2)
    refuse(
      `${field}.reduced`,
      change.reduced,
      "Leave it out: it is for changes that join or split channels.",
    );
  const isPlain =
    from.length === 1 && to.length === 1 && typeof change.from === "string" && typeof change.to === "string";
  if (change.up === undefined && to.length > 0 && (isSame || !isPlain))
    refuse(`${field}.up`, undefined, "Pass a function that makes the new value from the old one.");
  if (to.length === 0 && change.up !== undefined)
    refuse(`${field}.up`, change.up, "Leave it out, as the channel is removed. What brings it back is down.");
  if (from.length === 0 && change.down !== undefined)
    refuse(`${field}.down`, change.down, "Leave it out: a step down removes the channel.");
  if (change.up === undefined && change.down !== undefined && to.length > 0)
    refuse(`${field}.down`, change.down, "Leave it out, as a rename is undone by itself, or give up, too.");
}

function checkedNames(field: string, names: unknown): readonly string[] {
  if (names === undefined) return [];
  const list: readonly unknown[] = Array.isArray(names) ? names : [names];
  if (list.length === 0) refuse(field, "an empty list", "Leave it out, or name a channel.");
  if (new Set(list).size < list.length) refuse(field, "a name twice", "Name each channel once.");
  return list.map((name) =>
    typeof name === "string" && name !== "" ? name : refuse(field, name, 'Name a channel, such as "name".'),
  );
}

/** What the steps so far say of channels: whether they are there, by namespace and name. */
class KnownChannels {
  readonly #there = new Map<string, Map<string | undefined, boolean>>();

  /** @throws InvalidOptionError if two changes of a step meet, or a step takes what is gone, or puts what is there already */
  take(field: string, version: number, changes: readonly ChannelChange[]): void {
    const met: {
      readonly side: "from" | "to";
      readonly name: string;
      readonly namespace: string | undefined;
    }[] = [];
    for (const [n, { from, to, namespace }] of changes.entries())
      for (const side of ["from", "to"] as const)
        for (const name of namesOf(side === "from" ? from : to)) {
          const others = met.filter((one) => one.side === side && one.name === name);
          if (others.some((one) => overlap(one.namespace, namespace)))
            refuse(
              `${field}[${n}].${side}`,
              name,
              `Another change of the step to ${version} names it. Use one change for both.`,
            );
          met.push({ side, name, namespace });
        }
    for (const { side, name, namespace } of met) {
      const isTaken = met.some(
        (one) => one.side === "from" && one.name === name && overlap(one.namespace, namespace),
      );
      const isThere = this.#isThere(name, namespace);
      if (side === "from" && isThere === false)
        refuse(
          field,
          name,
          `An earlier step than that to ${version} took it from the state. Correct one of both.`,
        );
      if (side === "to" && isThere === true && !isTaken)
        refuse(
          field,
          name,
          `The step to ${version} would replace it, as an earlier step put it there. Use another name, or name it in from.`,
        );
    }
    for (const side of ["from", "to"] as const)
      for (const one of met) if (one.side === side) this.#note(one.name, one.namespace, side === "to");
  }

  #isThere(name: string, namespace: string | undefined): boolean | undefined {
    const known = this.#there.get(name);
    return known?.has(namespace) === true ? known.get(namespace) : known?.get(undefined);
  }

  #note(name: string, namespace: string | undefined, isThere: boolean): void {
    const known = this.#there.get(name) ?? new Map<string | undefined, boolean>();
    if (namespace === undefined) known.clear();
    this.#there.set(name, known.set(namespace, isThere));
  }
}

function overlap(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}
