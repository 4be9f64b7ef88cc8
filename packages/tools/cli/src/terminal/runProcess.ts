import { exitCodes } from "./exitCodes.ts";
import { main } from "./program.ts";

/** Runs the command line of this process, and sets its exit code. */
export async function runProcess(): Promise<void> {
  const { argv, stdout, stderr, stdin, env } = process;
  const brokenPipe = { isHandled: false };
  for (const stream of [stdout, stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      // The reader of the pipe has seen enough, as in `stratigraph threads | head`.
      if (!brokenPipe.isHandled) process.exit(exitCodes.done);
    });
  const watched = watchForDeadEnd();
  process.exitCode = await main(argv.slice(2), {
    stdout,
    stderr,
    stdin,
    env,
    cwd: process.cwd(),
    brokenPipe,
  });
  watched.end();
}

/** Says why a process ends in the middle of a command: Node would end it with exit code 13 and no message. */
function watchForDeadEnd(): { end(): void } {
  let idle = 0;
  const listener = (): void => {
    idle += 1;
    // Code that waits for the user's code listens, too, and knows better what it waits for: it gets one more turn.
    if (idle === 1) setImmediate(() => undefined);
    else {
      process.stderr.write(
        "error: The command waits for something that never comes: nothing is under way any more. " +
          "Look for a promise that never settles in the modules that the config names (graphs).\n",
      );
      process.exit(exitCodes.failed);
    }
  };
  process.on("beforeExit", listener);
  return { end: () => void process.off("beforeExit", listener) };
}
