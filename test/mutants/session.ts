import { fork, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { childrenOf } from "../servers/process.ts";
import type { TestResult, TestRun } from "./testRun.ts";

/** A mutant may have a test wait for something that never comes. Milliseconds. */
const LONGEST_MS = 300_000;

/** What came of a run: its result, or why it has none. */
export type Outcome = (TestResult | { readonly died: string }) & { readonly cpuSeconds: number };

/** Runs tests in a copy of the repository, by a runner that is started anew when it hangs or dies. */
export class Session {
  readonly #copy: string;
  #runner: ChildProcess | undefined;
  /** What the runner's time was at the end of the run before. */
  #cpuSeconds = 0;

  constructor(copy: string) {
    this.#copy = copy;
  }

  async run(request: TestRun): Promise<Outcome> {
    const runner = (this.#runner ??= await this.#start());
    runner.send(request);
    const result = await answerOf<TestResult>(runner);
    const before = this.#cpuSeconds;
    this.#cpuSeconds = cpuSecondsOf(runner.pid);
    const cpuSeconds = Math.max(0, this.#cpuSeconds - before);
    if (typeof result !== "string") return { ...result, cpuSeconds };
    this.kill();
    return { died: result, cpuSeconds };
  }

  /** Ends the runner. The next run gets a new one. */
  async end(): Promise<void> {
    const runner = this.#runner;
    if (runner === undefined) return;
    const ended = new Promise((resolve) => runner.once("exit", resolve));
    runner.disconnect();
    const timer = setTimeout(() => this.kill(), 20_000);
    await ended;
    clearTimeout(timer);
    this.#runner = undefined;
  }

  /** Its servers end with it (test/servers/process.ts), its processes are of its group. */
  kill(): void {
    const pid = this.#runner?.pid;
    this.#runner = undefined;
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended, and so has all of its group.
    }
  }

  async #start(): Promise<ChildProcess> {
    const runner = fork(join(this.#copy, "test/mutants/runner.ts"), {
      cwd: this.#copy,
      execArgv: ["--conditions=@stratigraph/source", "--import", "tsx"],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // A group of its own, so that a runner that hangs is killed with all its processes.
      detached: true,
    });
    let said = "";
    runner.stderr!.on("data", (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-5000)));
    const ready = await answerOf<"ready">(runner);
    if (ready !== "ready") throw new Error(`the runner didn't start (${ready}): ${said}`);
    this.#cpuSeconds = 0;
    return runner;
  }
}

/** The next message of a runner; a text that says why if there is none. */
async function answerOf<Message>(runner: ChildProcess): Promise<Message | string> {
  return await new Promise((resolve) => {
    const settle = (answer: Message | string): void => {
      clearTimeout(timer);
      runner.off("message", settle).off("exit", onExit).off("error", onError);
      resolve(answer);
    };
    const onExit = (): void => settle("the runner's end");
    const onError = (error: Error): void => settle(error.message);
    const timer = setTimeout(() => settle("the time limit"), LONGEST_MS);
    runner.on("message", settle).on("exit", onExit).on("error", onError);
  });
}

/** What a process and all that came from it have taken so far, those that have ended included. Linux; elsewhere 0. */
function cpuSecondsOf(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The fields after the name, from the twelfth on: user, system, and the same of children that were waited for.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
    return childrenOf(pid!).reduce((sum, child) => sum + cpuSecondsOf(child), own);
  } catch {
    return 0;
  }
}
