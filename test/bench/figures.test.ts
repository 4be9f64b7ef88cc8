import { formatTable, ratio } from "./format.ts";
import { median, percentile } from "./stats.ts";
import { SCENARIOS } from "./scenarios.ts";
import { targets } from "./targets.ts";

describe("percentile", () => {
  const samples = Array.from({ length: 100 }, (_, index) => 100 - index);

  it("takes the nearest rank, whatever the order of the samples", () => {
    expect(percentile(samples, 0.5)).toBe(50);
    expect(percentile(samples, 0.99)).toBe(99);
    expect(percentile(samples, 1)).toBe(100);
    expect(median([3, 1, 2])).toBe(2);
  });

  it("is NaN without samples", () => {
    expect(median([])).toBeNaN();
  });
});

describe("targets", () => {
  const row = (figures: Record<string, number>, what: string) =>
    targets(new Map(Object.entries(figures))).rows.find(([label]) => label === what);
  const mark = (figures: Record<string, number>, what: string) => row(figures, what)?.at(-1);

  it("says reached at the limit, not reached above it, and nothing if a figure is missing", () => {
    const official = { "builds.cjs.official-postgres.putP50": 8 };
    const ours = (putP50: number) => ({ ...official, "builds.cjs.postgres.putP50": putP50 });
    expect(mark(ours(2), "put p50, CommonJS")).toBe("reached");
    expect(mark(ours(2.01), "put p50, CommonJS")).toBe("NOT reached");
    expect(mark(official, "put p50, CommonJS")).toBe("–");
    expect(mark(ours(2), "put p50, ESM")).toBe("–");
  });

  it("counts a larger rate as better", () => {
    const what = "puts per second, 8 cold processes, against the official MemorySaver, ESM";
    const rates = (ours: number) => ({
      "throughput.esm.official-memory.putsPerSecond": 500,
      "throughput.esm.postgres.putsPerSecond": ours,
    });
    expect(row(rates(450), what)).toEqual([what, "500/s", "at least 0.9 ×", "450/s", "0.90 ×", "reached"]);
    expect(mark(rates(900), what)).toBe("reached");
    expect(mark(rates(449), what)).toBe("NOT reached");
    const official = what.replace("puts per second", "the same of the official PostgresSaver");
    const theirs = { ...rates(450), "throughput.esm.official-postgres.putsPerSecond": 200 };
    expect(row(theirs, official)).toEqual([official, "500/s", "", "200/s", "0.40 ×", ""]);
  });

  it("judges nothing if nothing was promised", () => {
    const what = "share of the run above the floor, CPU, ESM";
    const figures = { "builds.esm.official-postgres.ownCpu": 9000, "builds.esm.postgres.ownCpu": 3000 };
    expect(row(figures, what)).toEqual([what, "9.00 s", "", "3.00 s", "1/3.00", ""]);
  });
});

describe("tables", () => {
  it("are Markdown whose columns line up", () => {
    const text = formatTable({ title: "T", columns: ["", "b"], rows: [["…é", "1/4"]], notes: ["n"] });
    expect(text).toBe("## T\n\n|     |   b |\n| --- | --: |\n| …é  | 1/4 |\n\n- n");
  });

  it("print how much smaller or larger ours is", () => {
    expect(ratio(1, 4)).toBe("1/4.00");
    expect(ratio(4, 1)).toBe("4.00 ×");
    expect(ratio(undefined, 1)).toBe("–");
  });
});

describe("scenarios", () => {
  it("never change a state that they have already given, and give the same states again", () => {
    for (const scenario of Object.values(SCENARIOS)) {
      const size = { startTurns: 3, puts: 21 };
      const states: string[] = [];
      const kept: Record<string, unknown>[] = [];
      for (const state of scenario(size)) {
        states.push(JSON.stringify(state));
        kept.push(state);
      }
      expect(states).toHaveLength(22);
      expect(kept.map((state) => JSON.stringify(state))).toEqual(states);
      expect([...scenario(size)].map((state) => JSON.stringify(state))).toEqual(states);
    }
  });
});
