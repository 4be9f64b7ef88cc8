import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

/** The streams, environment and folder of a command line. */
export interface Terminal {
  /** The result, and nothing else. */
  readonly stdout: Writable;
  /** Progress, questions, warnings and errors. */
  readonly stderr: Writable;
  readonly stdin: Readable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Absent: nothing ends the process when a reader has gone. A server sets `isHandled`: it ends in order. */
  readonly brokenPipe?: { isHandled: boolean } | undefined;
}

/** Whether a person can answer questions: stdin and stderr are terminals, and this isn't a CI machine. */
export function canAsk({ stdin, stderr, env }: Terminal): boolean {
  return isTty(stdin) && isTty(stderr) && (env["CI"] ?? "") === "";
}

/** Whether a stream is a terminal. */
export function isTty(stream: Readable | Writable): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true;
}

/** Writes a line and waits until the stream takes more: a slow reader slows the writer down. */
export async function writeLine(stream: Writable, line: string): Promise<void> {
  if (stream.write(`${line}\n`) || stream.destroyed) return;
  const done = new AbortController();
  const events = ["drain", "close"].map((event) => once(stream, event, { signal: done.signal }));
  await Promise.race(events).finally(() => done.abort());
}
