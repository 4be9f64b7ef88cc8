import { exitCodes } from "./exitCodes.ts";
import { main } from "./program.ts";

/** Runs the command line of this process, and sets its exit code. */
export async function runProcess(): Promise<void> {
  const { argv, stdout, stderr, stdin, env } = process;
  for (const stream of [stdout, stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // Whoever read the pipe has seen enough, as in `stratigraph threads | head`.
      if (error.code === "EPIPE") process.exit(exitCodes.done);
      throw error;
    });
  process.exitCode = await main(argv.slice(2), { stdout, stderr, stdin, env, cwd: process.cwd() });
}
