import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutant.ts";

const root = join(import.meta.dirname, "../..");

/** The mutants of every list in list/, by the name of the list's file, which is the package's. */
export async function allMutants(): Promise<ReadonlyMap<string, readonly Mutant[]>> {
  const files = readdirSync(join(import.meta.dirname, "list")).toSorted();
  const lists = files.map(async (file) => {
    const name = file.replace(/\.ts$/, "");
    const exported = (await import(`./list/${name}.ts`)) as Record<string, readonly Mutant[]>;
    return [name, Object.values(exported).flat()] as const;
  });
  return new Map(await Promise.all(lists));
}

/** The text of a mutant's file with its fault in it. @throws Error if it no longer applies */
export function mutated({ file, find, replace }: Mutant, text: string): string {
  const places = text.split(find).length - 1;
  if (places !== 1) throw new Error(`occurs ${places} times in ${file}, not once: ${JSON.stringify(find)}`);
  if (find === replace) throw new Error("replaces a text by itself");
  return text.replace(find, () => replace);
}

/** Why a mutant can't be run, if it can't: it is stale, or names a test file that isn't there. */
export function staleness(mutant: Mutant): string | undefined {
  const { file, tests } = mutant;
  if (!existsSync(join(root, file))) return `there is no ${file}`;
  const missing = tests.find((test) => !test.endsWith(".test.ts") || !existsSync(join(root, test)));
  if (missing !== undefined) return `there is no test file ${missing}`;
  if (tests.length === 0) return "names no test file";
  try {
    mutated(mutant, readFileSync(join(root, file), "utf8"));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
