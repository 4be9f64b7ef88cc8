import { execFile } from "node:child_process";
import { join } from "node:path";

/** How a tool ended, and what it printed. */
export interface Output {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** The official tools, on a Node that they run on. */
export class Tools {
  readonly folder: string;

  /** @param home a folder for what the tools keep in the user's home */
  constructor(
    installation: string,
    readonly node: string,
    readonly home: string,
  ) {
    this.folder = join(installation, "node_modules/@modelcontextprotocol");
  }

  /** @param program below the tools' folder */
  run(program: string, args: readonly string[]): Promise<Output> {
    const options = {
      cwd: this.home,
      env: { ...process.env, HOME: this.home, NO_COLOR: "1" },
      timeout: 60_000,
    };
    return new Promise((resolve) => {
      execFile(this.node, [join(this.folder, program), ...args], options, (error, stdout, stderr) => {
        resolve({ ok: error === null, stdout, stderr });
      });
    });
  }
}
