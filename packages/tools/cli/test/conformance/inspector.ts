import { deepStrictEqual } from "node:assert";
import type { Tools } from "./tools.ts";

/** One call of the Inspector's command line, and what its answer must have in it. */
export interface Call {
  readonly method: string;
  readonly args?: readonly string[];
  /** What is compared. */
  readonly pick: (result: never) => unknown;
  readonly expected: unknown;
}

/** How the Inspector reaches a server. */
export interface Target {
  readonly args: readonly string[];
  readonly era: "modern" | "legacy";
}

const program = "inspector/clients/launcher/build/index.js";

/** Makes calls by the Inspector's command line, each in a process of its own. @throws Error with all differences */
export async function inspectBy(tools: Tools, target: Target, calls: readonly Call[]): Promise<string> {
  const differences: string[] = [];
  for (const { method, args = [], pick, expected } of calls) {
    const { ok, stdout, stderr } = await tools.run(program, [
      // The target comes first: an option that takes several values would take it as one of them.
      ...["--cli", ...target.args, "--method", method, ...args],
      ...["--format", "json", "--quiet", "--protocol-era", target.era],
    ]);
    try {
      deepStrictEqual(pick((JSON.parse(stdout) as { result: never }).result), expected);
      if (!ok) throw new Error("It ended with an error.");
    } catch (error) {
      differences.push(`${method} ${args.join(" ")}: ${String(error)}\n${stdout}${stderr}`);
    }
  }
  if (differences.length > 0) throw new Error(differences.join("\n"));
  return `${calls.length} calls answer as expected`;
}
