import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseEnv } from "node:util";
import { StratigraphError } from "@stratigraph/core";
import { messageOf } from "@stratigraph/core/internal";
import { z } from "zod";

const graphPath = z
  .string()
  .regex(/^.+\.[cm]?[jt]sx?:[^:]+$/, "write ./file.ts:export, of JavaScript or TypeScript");

/** What is used of the file. LangGraph's server checks auth, ui and http itself. */
const schema = z.looseObject({
  graphs: z
    .record(
      z.string(),
      z.union(
        [graphPath, z.looseObject({ path: graphPath })],
        "write ./file.ts:export, of JavaScript or TypeScript",
      ),
    )
    .refine((graphs) => Object.keys(graphs).length > 0, "name at least one graph"),
  env: z
    .union([z.string(), z.record(z.string(), z.string())], "write the path of a file, or an object")
    .optional(),
  node_loader: z.literal("tsx", "only tsx is supported here").optional(),
});

/** A langgraph.json. */
export interface LangGraphJson extends z.output<typeof schema> {
  /** The folder that its paths are relative to. */
  readonly folder: string;
  /** Its path. */
  readonly file: string;
}

/**
 * Reads a langgraph.json.
 * @param named its path, if it isn't that of the current folder
 * @throws StratigraphError "MISCONFIGURED" that says what is missing or wrong
 */
export async function readLangGraphJson(cwd: string, named = "langgraph.json"): Promise<LangGraphJson> {
  const file = resolve(cwd, named);
  const wrong = (what: string, cause?: unknown): StratigraphError =>
    new StratigraphError("MISCONFIGURED", what, { file }, cause);
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw wrong(
      `${file} can't be read (${(error as NodeJS.ErrnoException).code ?? messageOf(error)}). The dev server wants a langgraph.json that names the graphs: ` +
        `{ "graphs": { "agent": "./src/graph.ts:graph" } }. If it is elsewhere: --langgraph <file>.`,
      error,
    );
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw wrong(`${file} is no JSON: ${messageOf(error)}.`, error);
  }
  const { success, data, error } = schema.safeParse(value);
  if (success) return { ...data, folder: dirname(file), file };
  const mistakes = error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
  throw wrong(`${file} is wrong. ${mistakes.join("; ")}.`);
}

/**
 * Puts the variables that the file names into the process's environment. Those that are set stay as they are.
 * @returns what a person should know, if anything
 */
export async function setVariables({ env = {}, folder }: LangGraphJson): Promise<string | undefined> {
  if (typeof env !== "string") {
    set(env);
    return undefined;
  }
  const file = resolve(folder, env);
  try {
    set(parseEnv(await readFile(file, "utf8")));
    return undefined;
  } catch (error) {
    return `The variables of ${file} aren't set: ${messageOf(error)}.`;
  }
}

function set(variables: NodeJS.Dict<string>): void {
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
}
