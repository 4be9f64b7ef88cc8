import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** What a program said, and whether it ended well. */
export interface Output {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Settings for one program. */
export interface RunOptions {
  readonly env?: Record<string, string>;
  /** Inside the project. */
  readonly folder?: string;
}

/** An application of somebody else's, in a temporary folder, with the files of apps/ and our tarballs. */
export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), "stratigraph-consumer-"));
  /** Paths of the tarballs by package name, those of libraries. */
  readonly tarballs: ReadonlyMap<string, string>;
  /** That of the command line, which few applications import. */
  readonly cli: string;

  constructor(tarballs: string) {
    process.once("exit", () => rmSync(this.folder, { recursive: true, force: true }));
    cpSync(join(import.meta.dirname, "apps"), this.folder, { recursive: true });
    const packed = new Map(
      readdirSync(tarballs).map((file) => {
        const name = file.replace(/-\d+\.\d+\.\d+.*\.tgz$/, "").replace(/^stratigraph-/, "@stratigraph/");
        return [name, join(tarballs, file)];
      }),
    );
    const cli = "@stratigraph/cli";
    this.cli = packed.get(cli) ?? "";
    this.tarballs = new Map([...packed].filter(([name]) => name !== cli));
    this.write("package.json", "{}");
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  /** Our packages and `others` ("name@version"), as npm installs them. */
  async install(...others: string[]): Promise<void> {
    const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    await this.run("npm", ["install", ...quiet, ...this.tarballs.values(), ...others]);
  }

  /** Runs a program and gives what it printed. @throws Error with all it said, where it fails */
  async run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { ok, stdout, stderr } = await this.try(command, args, options);
    if (!ok) throw new Error(`${command} ${args.join(" ").slice(0, 200)}\n${stdout}${stderr}`);
    return stdout;
  }

  async try(command: string, args: readonly string[], options: RunOptions = {}): Promise<Output> {
    // As on a user's machine: without what our own runners put into the environment.
    const { NODE_OPTIONS: _, ...plain } = process.env;
    const settings = {
      cwd: join(this.folder, options.folder ?? "."),
      env: { ...plain, NEXT_TELEMETRY_DISABLED: "1", YARN_ENABLE_TELEMETRY: "0", ...options.env },
      timeout: 10 * 60_000,
      maxBuffer: 64 << 20,
    };
    try {
      return { ok: true, ...(await execute(command, args, settings)) };
    } catch (error) {
      const { stdout = "", stderr = String(error) } = error as { stdout?: string; stderr?: string };
      return { ok: false, stdout, stderr };
    }
  }
}
