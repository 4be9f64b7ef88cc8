/** Milliseconds; CPU is that of this process, all its threads included. */
export interface Spent {
  wall: number;
  cpu: number;
}

/** Measures the time and CPU of `work`. */
export async function measured(work: () => Promise<void>): Promise<Spent> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const wall = performance.now() - start;
  const used = process.cpuUsage(cpu);
  return { wall, cpu: (used.user + used.system) / 1000 };
}
