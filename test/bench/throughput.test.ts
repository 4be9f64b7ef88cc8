import { throughputOf } from "./throughput.ts";

describe("throughput", () => {
  it("counts the puts that ended in time, and shares the CPU out to all", () => {
    const rounds = [
      [
        { puts: [1, 2, 3, 4], late: 1, cpu: 100, firstPut: 30 },
        { puts: [5, 6], late: 0, cpu: 50, firstPut: 10 },
      ],
      [{ puts: [7, 8, 9], late: 0, cpu: 50, firstPut: 20 }],
    ];
    expect(throughputOf(rounds, 3)).toEqual({
      putsPerSecond: 1.5,
      firstPut: 20,
      putP50: 5,
      putP99: 9,
      cpuPerPut: 20,
    });
  });
});
