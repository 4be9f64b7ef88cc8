import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { childProgram } from "../../../../../../test/servers/childProgram.ts";

/** A command line in a process of its own. */
export interface RunningCli {
  readonly child: ChildProcess;
  /** What it has written so far; on a terminal both streams are one. */
  output(): string;
  /** Waits until it has written something. @throws Error where it ends, or 60 seconds pass, without it */
  said(what: RegExp): Promise<void>;
  /** How it ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

const { path, execArgv } = childProgram(join(import.meta.dirname, "cliChild.ts"));

/** Starts it with pipes for streams. */
export function spawnCli(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd?: string): RunningCli {
  return watch(
    spawn(process.execPath, [...execArgv, path, ...args], { env: { ...process.env, ...env }, cwd }),
  );
}

/** Starts it on a terminal of 100 columns, which `script` of util-linux provides. */
export function spawnOnTerminal(
  args: readonly string[],
  { env = {}, cwd }: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): RunningCli {
  const command = [process.execPath, ...execArgv, path, ...args].map(quoted).join(" ");
  // Without `exec`, Ctrl-C reaches the shell too, and dash then ends with 130 whatever the command ended with.
  const child = spawn("script", ["-qefc", `stty cols 100; exec ${command}`, "/dev/null"], {
    cwd,
    env: { ...process.env, CI: "", NO_COLOR: "", TERM: "xterm-256color", ...env },
  });
  return watch(child);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function watch(child: ChildProcess): RunningCli {
  let text = "";
  const listeners = new Set<() => void>();
  const add = (chunk: Buffer): void => {
    text += chunk.toString();
    for (const listener of listeners) listener();
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  const ended = new Promise<Awaited<RunningCli["ended"]>>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  const said = (what: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const give = (why: string) => () => reject(new Error(`${why} without saying ${what}: ${text}`));
      const timer = setTimeout(give("60 s passed"), 60_000);
      const look = (): void => {
        if (!what.test(text)) return;
        clearTimeout(timer);
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      void ended.then(give("it ended"));
      look();
    });
  return { child, output: () => text, said, ended };
}
