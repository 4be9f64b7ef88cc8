import type { GraphThroughputResult } from "./jobs/graphThroughput.ts";
import { median, percentile } from "./stats.ts";

/** What processes did together; times in milliseconds. */
export interface Throughput {
  putsPerSecond: number;
  /** From the start until a process had its first put done, of the median process. */
  firstPut: number;
  putP50: number;
  putP99: number;
  /** CPU of the clients' processes, with all that LangGraph does around a put. */
  cpuPerPut: number;
}

/** Sums rounds up: of each, what every process did in `seconds`. */
export function throughputOf(
  rounds: readonly (readonly GraphThroughputResult[])[],
  seconds: number,
): Throughput {
  const results = rounds.flat();
  const puts = results.flatMap((result) => result.puts);
  const cpu = results.reduce((sum, result) => sum + result.cpu, 0);
  const calls = results.reduce((sum, result) => sum + result.puts.length + result.late, 0);
  return {
    putsPerSecond: puts.length / (seconds * rounds.length),
    firstPut: median(results.map((result) => result.firstPut)),
    putP50: percentile(puts, 0.5),
    putP99: percentile(puts, 0.99),
    cpuPerPut: cpu / calls,
  };
}
