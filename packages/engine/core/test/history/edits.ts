import { AIMessage, HumanMessage } from "@langchain/core/messages";

/** Numbers from a seed: the same in every run. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  /** Words that compress as prose does, or hex digits that don't. */
  text(length: number): string {
    if (this.below(3) === 0) {
      let digits = "";
      while (digits.length < length) digits += this.below(2 ** 32).toString(16);
      return digits.slice(0, length);
    }
    const words = [
      "the",
      "checkpoint",
      "of",
      "Müller",
      "→",
      "patch",
      "🙂",
      "holds",
      "no",
      "bytes\n",
      '"quoted"',
    ];
    let prose = "";
    while (prose.length < length) prose += `${this.pick(words)} `;
    return prose;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

/** A piece cut out or replaced anywhere: what every sequence is edited by. */
function spliced<T>(random: Random, sequence: readonly T[], fresh: readonly T[]): T[] {
  const at = random.below(sequence.length + 1);
  return [...sequence.slice(0, at), ...fresh, ...sequence.slice(at + random.below(4))];
}

function message(random: Random): HumanMessage | AIMessage {
  const fields = { id: `m${random.below(1e9)}`, content: random.text(20 + random.below(600)) };
  return random.below(2) === 0
    ? new HumanMessage(fields)
    : new AIMessage({
        ...fields,
        tool_calls: [{ name: "look", args: { n: random.below(9) }, id: fields.id }],
      });
}

type Edit = (random: Random, before: unknown) => unknown;

const edits: Record<string, Edit> = {
  messages: (random, before) => {
    const list = (before ?? []) as readonly unknown[];
    const fresh = Array.from({ length: 1 + random.below(4) }, () => message(random));
    switch (random.below(8)) {
      case 0:
        return spliced(random, list, fresh);
      case 1:
        return list.slice(Math.floor(list.length / 2));
      case 2:
        return [message(random)];
      default:
        return [...list, ...fresh];
    }
  },
  object: (random, before) => ({
    ...(before as object | undefined),
    [`key${random.below(12)}`]: { text: random.text(random.below(300)), list: [random.below(5), null, true] },
  }),
  text: (random, before) => {
    const old = (before ?? "") as string;
    const at = random.below(old.length + 1);
    // Cutting between the halves of a surrogate pair is part of the game: lone ones must survive as well.
    return old.slice(0, at) + random.text(random.below(400)) + old.slice(at + random.below(60));
  },
  bytes: (random, before) => {
    const old = (before ?? new Uint8Array()) as Uint8Array;
    const at = random.below(old.length + 1);
    const fresh = random.bytes(random.below(90));
    return Uint8Array.from([...old.subarray(0, at), ...fresh, ...old.subarray(at + random.below(30))]);
  },
  big: (random, before) => {
    const old = (before ?? random.text(70_000)) as string;
    const at = random.below(old.length);
    const fresh = random.below(6) === 0 ? random.text(66_000) : random.text(100);
    return (old.slice(0, at) + fresh + old.slice(at + random.below(2_000)))
      .slice(-150_000)
      .padEnd(66_000, "-");
  },
  toggle: (random) => {
    const one = new Random(random.below(4));
    return { on: one.below(9), text: one.text(600 + 400 * one.below(3)) };
  },
  typed: (random) => ({
    at: new Date(random.below(1e9)),
    big: BigInt(random.below(1e9)) ** 3n,
    map: new Map([[random.text(5), new Set([random.below(9), NaN, -0, undefined])]]),
    floats: Float64Array.from([random.below(9), Infinity, NaN]),
    nested: [random.bytes(random.below(200)), undefined],
  }),
  small: (random) => random.pick([null, false, 0, -0, "", "x", random.below(1e6), [], {}, NaN]),
};

export const channels: readonly string[] = Object.keys(edits);

/** The channel's next value; what came before stays as it is. */
export function edited(channel: string, before: unknown, seed: number): unknown {
  return edits[channel]!(new Random(seed), before);
}

/** Damages a value in place, as a graph's node may do with what it was given. */
export function scribbleOn(value: unknown): void {
  if (value instanceof Uint8Array) value.fill(0xee);
  else if (value instanceof Map || value instanceof Set) value.clear();
  else if (Array.isArray(value)) {
    for (const item of value) scribbleOn(item);
    value.push("scribble");
  } else if (typeof value === "object" && value !== null && !(value instanceof Date)) {
    for (const part of Object.values(value)) scribbleOn(part);
    (value as Record<string, unknown>)["scribble"] = true;
  }
}
