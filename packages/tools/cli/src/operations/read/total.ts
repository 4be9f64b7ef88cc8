import type { ThreadInfo } from "@stratigraph/core";
import type { Measured } from "./measureThread.ts";
import type { Stats } from "./statsOutput.ts";

/** The nodes that a namespace leads through: each run of a subgraph has a namespace of its own, which ends with the id of its task. */
function nodesOf(namespace: string): string {
  return namespace.replaceAll(/:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}(?=\||$)/g, "");
}

/** How many channels, namespaces and days are listed at most. */
const mostListed = 20;

const day = 86_400_000;

/** The figures of the measured threads, projected to all counted threads. */
export class Total {
  readonly #factor: number;
  readonly #measured: readonly { readonly info: ThreadInfo; readonly measured: Measured }[];
  readonly #idleBeforeMs: number;

  constructor(
    counted: number,
    measured: readonly { info: ThreadInfo; measured: Measured }[],
    idleBeforeMs: number,
  ) {
    this.#factor = measured.length === 0 ? 0 : counted / measured.length;
    this.#measured = measured;
    this.#idleBeforeMs = idleBeforeMs;
  }

  figures(): Omit<Stats, "thread" | "estimated" | "threads" | "frees"> {
    const records = this.#sum(({ recordBytes }) => recordBytes);
    const writes = this.#sum(({ writeBytes }) => writeBytes);
    const values = this.#sum(({ valueBytes }) => valueBytes);
    const total = records + writes + values;
    const states = this.#sum(({ stateBytes }) => stateBytes);
    return {
      checkpoints: this.#sum(({ checkpoints }) => checkpoints),
      bytes: { records, writes, values, total },
      states: {
        bytes: states,
        sampled: this.#measured.some(({ measured }) => measured.sampled),
        ...(total === 0 ? {} : { ratio: states / total }),
      },
      channels: this.#channels(),
      namespaces: this.#namespaces(),
      tiers: this.#tiers(),
      chains: this.#chains(),
      growth: this.#growth(),
    };
  }

  pruned(): { checkpoints: number; bytes: number } {
    return {
      checkpoints: this.#sum(({ pruned }) => pruned.checkpoints),
      bytes: this.#sum(({ pruned }) => pruned.bytes),
    };
  }

  /** Bytes in the warm tier of threads that would be archived. */
  idleBytes(): number {
    const idle = this.#measured.filter(({ info }) => info.writtenAtMs < this.#idleBeforeMs);
    const held = idle.flatMap(({ measured }) => measured.tiers.filter(({ role }) => role === "warm"));
    return this.#projected(held.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  #sum(of: (measured: Measured) => number): number {
    return this.#projected(this.#measured.reduce((sum, { measured }) => sum + of(measured), 0));
  }

  #projected(figure: number): number {
    return Math.round(figure * this.#factor);
  }

  #channels(): Stats["channels"] {
    const sums = new Map<string, { values: number; bytes: number }>();
    for (const { measured } of this.#measured)
      for (const [channel, { values, bytes }] of measured.channels) {
        const sum = sums.get(channel) ?? { values: 0, bytes: 0 };
        sums.set(channel, { values: sum.values + values, bytes: sum.bytes + bytes });
      }
    return [...sums]
      .sort(([, a], [, b]) => b.bytes - a.bytes)
      .slice(0, mostListed)
      .map(([channel, { values, bytes }]) => ({
        channel,
        values: this.#projected(values),
        bytes: this.#projected(bytes),
      }));
  }

  #namespaces(): Stats["namespaces"] {
    const sums = new Map<string, number>();
    for (const { measured } of this.#measured)
      for (const [namespace, checkpoints] of measured.namespaces) {
        const nodes = nodesOf(namespace);
        sums.set(nodes, (sums.get(nodes) ?? 0) + checkpoints);
      }
    return [...sums]
      .sort(([, a], [, b]) => b - a)
      .slice(0, mostListed)
      .map(([namespace, checkpoints]) => ({ namespace, checkpoints: this.#projected(checkpoints) }));
  }

  #tiers(): Stats["tiers"] {
    const sums = new Map<string, Stats["tiers"][number]>();
    for (const { measured } of this.#measured)
      for (const { tier, role, checkpoints, bytes, error } of measured.tiers) {
        const key = `${role} ${tier}`;
        const sum = sums.get(key) ?? { tier, role, checkpoints: 0, bytes: 0 };
        const failure =
          error === undefined ? {} : { error: error instanceof Error ? error.message : "it didn't answer" };
        sums.set(key, {
          ...sum,
          checkpoints: sum.checkpoints + checkpoints,
          bytes: sum.bytes + bytes,
          ...failure,
        });
      }
    return [...sums.values()].map((sum) => ({
      ...sum,
      checkpoints: this.#projected(sum.checkpoints),
      bytes: this.#projected(sum.bytes),
    }));
  }

  #chains(): Stats["chains"] {
    const of = (pick: (chains: Measured["chains"]) => number): number =>
      this.#sum(({ chains }) => pick(chains));
    const [whole, patches, lengths] = [of((c) => c.whole), of((c) => c.patches), of((c) => c.lengths)];
    const longest = Math.max(0, ...this.#measured.map(({ measured }) => measured.chains.longest));
    return { whole, patches, mean: whole + patches === 0 ? 0 : lengths / (whole + patches), longest };
  }

  #growth(): Stats["growth"] {
    const sums = new Map<string, { checkpoints: number; bytes: number }>();
    for (const { measured } of this.#measured)
      for (const [name, { checkpoints, bytes }] of measured.days) {
        const sum = sums.get(name) ?? { checkpoints: 0, bytes: 0 };
        sums.set(name, { checkpoints: sum.checkpoints + checkpoints, bytes: sum.bytes + bytes });
      }
    const days = [...sums]
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .map(([name, { checkpoints, bytes }]) => ({
        day: name,
        checkpoints: this.#projected(checkpoints),
        bytes: this.#projected(bytes),
      }));
    const weekAgo = new Date(Date.now() - 7 * day).toISOString().slice(0, 10);
    const recent = days.filter((each) => each.day > weekAgo && each.day !== "unknown");
    const perDay = Math.round(recent.reduce((sum, { bytes }) => sum + bytes, 0) / 7);
    return { days: days.slice(0, mostListed), perDay };
  }
}
