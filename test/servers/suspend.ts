import { readdirSync, readFileSync } from "node:fs";

/**
 * Sends SIGSTOP, and returns when nothing of the process runs any more. The signal alone is on its way when it was sent: another thread may
 * still answer a request.
 */
export function suspend(pid: number): void {
  process.kill(pid, "SIGSTOP");
  if (process.platform !== "linux") return;
  const end = Date.now() + 10_000;
  while (statesOf(pid).some((state) => state !== "T")) {
    if (Date.now() > end) throw new Error(`process ${pid} still runs 10 s after SIGSTOP`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }
}

/** What each thread of a process does, in the letters of proc(5). */
function statesOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
      return stat.charAt(stat.lastIndexOf(")") + 2);
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}
