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
  const mark = (figures: Record<string, number>, what: string) =>
    targets(new Map(Object.entries(figures)))
      .rows.find(([label]) => label === what)
      ?.at(-1);

  it("says reached at the limit, not reached above it, and nothing where a figure is missing", () => {
    const official = { "replay.official-postgres.putP50": 8 };
    expect(mark({ ...official, "replay.postgres.putP50": 2 }, "put p50")).toBe("reached");
    expect(mark({ ...official, "replay.postgres.putP50": 2.01 }, "put p50")).toBe("NOT reached");
    expect(mark(official, "put p50")).toBe("–");
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
