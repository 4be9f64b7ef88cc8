import { PassThrough, Readable } from "node:stream";
import { main } from "@stratigraph/cli";

/** What a command line wrote, and its exit code. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process, as in a pipe: nothing is a terminal. */
export async function runCli(
  args: readonly string[],
  options: { readonly cwd?: string; readonly stdin?: string } = {},
): Promise<Ran> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  const code = await main(args, {
    stdout,
    stderr,
    stdin: Readable.from([options.stdin ?? ""]),
    env: process.env,
    cwd: options.cwd ?? process.cwd(),
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Collected extends PassThrough {
  text = "";

  constructor() {
    super();
    this.setEncoding("utf8");
    this.on("data", (chunk: string) => {
      this.text += chunk;
    });
  }
}
