import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** Runs a program in a Node process of its own, as an application runs: no TypeScript, the packages as they are published. @returns what it printed, as JSON */
export async function runProgram<Said>(file: URL, input: unknown): Promise<Said> {
  const path = fileURLToPath(file);
  const child = spawn(process.execPath, [path, JSON.stringify(input)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  if (code !== 0) throw new Error(`${path} ended with ${code}`);
  return JSON.parse(said) as Said;
}
