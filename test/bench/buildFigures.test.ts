import { alternating, figuresOf, type Round } from "./buildFigures.ts";
import type { BuildResult } from "./jobs/replayBuild.ts";

const result = (run: number, history = 0): BuildResult => ({
  putP50: run / 10,
  putP99: 0,
  putWritesP50: 0,
  putWritesP99: 0,
  getTupleP50: 0,
  getTupleP99: 0,
  run: { wall: run, cpu: 2 * run },
  history: { wall: history, cpu: history },
});

describe("figures of builds", () => {
  // The machine was busy in the second round, and the floor as slow as the saver.
  const rounds: Round[] = [
    new Map([
      ["esm.floor", result(10)],
      ["esm.postgres", result(30, 5)],
      ["esm.official-postgres", result(100, 50)],
    ]),
    new Map([
      ["esm.floor", result(40)],
      ["esm.postgres", result(65, 9)],
    ]),
    new Map([
      ["esm.floor", result(11)],
      ["esm.postgres", result(29, 4)],
      ["esm.official-postgres", result(111, 60)],
    ]),
  ];

  it("take the median of the differences between the rounds and their own floors", () => {
    const ours = figuresOf(rounds, "esm", "postgres");
    expect(ours).toMatchObject({ runWall: 30, ownWall: 20, ownCpu: 40, putP50: 3 });
    expect(figuresOf(rounds, "esm", "official-postgres")).toMatchObject({ runWall: 100, ownWall: 90 });
  });

  it("know the slowest history", () => {
    expect(figuresOf(rounds, "esm", "postgres")).toMatchObject({ historyWall: 5, historyWorst: 9 });
  });

  it("give the floor no share above itself, and give nothing for what wasn't measured", () => {
    expect(figuresOf(rounds, "esm", "floor")).toMatchObject({ runWall: 11, ownWall: undefined });
    expect(figuresOf(rounds, "cjs", "postgres")).toBeUndefined();
  });
});

describe("the order of the builds", () => {
  it("changes from round to round", () => {
    expect(alternating([], 0)).toEqual(["esm", "cjs"]);
    expect(alternating([], 1)).toEqual(["cjs", "esm"]);
    expect(alternating(["cjs"], 1)).toEqual(["cjs"]);
  });
});
