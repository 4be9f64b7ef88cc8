import { fork, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { childProgram } from "./childProgram.ts";

export interface ChildOptions {
  env?: Record<string, string>;
  /** Another Node binary; default: the one we run on. */
  execPath?: string;
}

/** How a child ended. */
export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A TypeScript program in a process of its own. It talks by `process.send(message)`. */
export interface Child<Message> {
  pid: number;
  /** All messages so far, oldest first. */
  messages: Message[];
  /** The first message, past or future, that `matches`; rejects when the child ends without it. */
  message(matches: (message: Message) => boolean): Promise<Message>;
  send(message: unknown): void;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<ChildExit>;
  /** Resolves when it has ended, whatever its exit code. */
  exit: Promise<ChildExit>;
}

const running = new Set<ChildProcess>();
// A test that fails half-way must not leave its children at work.
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Runs a TypeScript file with the packages' sources: its bundle where it has one, which starts three times as fast.
 * The child inherits our environment, so it can use shared.ts as well.
 */
export function runChild<Message = unknown>(
  scriptPath: string,
  args: string[] = [],
  options: ChildOptions = {},
): Child<Message> {
  const { path, execArgv } = childProgram(scriptPath);
  const child = fork(path, args, {
    cwd: join(import.meta.dirname, "../.."),
    execArgv,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    serialization: "advanced",
    ...(options.execPath === undefined ? {} : { execPath: options.execPath }),
  });
  running.add(child);
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const messages: Message[] = [];
  child.on("message", (message) => messages.push(message as Message));
  const exit = new Promise<ChildExit>((resolve, reject) => {
    child.once("error", reject);
    // "close", not "exit": by then all that it wrote has arrived.
    child.once("close", (code, signal) => {
      running.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });

  return {
    pid: child.pid ?? -1,
    messages,
    exit,
    send: (message) => void child.send(message as never),
    kill: () => {
      child.kill("SIGKILL");
      return exit;
    },
    message: (matches) =>
      new Promise((resolve, reject) => {
        const past = messages.find(matches);
        if (past !== undefined) return resolve(past);
        const listen = (message: unknown) => {
          if (!matches(message as Message)) return;
          child.off("message", listen);
          resolve(message as Message);
        };
        child.on("message", listen);
        void exit.then((end) =>
          reject(
            new Error(`the child ended (${end.signal ?? end.code}) without that message:\n${end.stderr}`),
          ),
        );
      }),
  };
}
