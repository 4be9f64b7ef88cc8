import { join } from "node:path";
import { StratigraphError } from "@stratigraph/core";

/**
 * Loads the first of these packages that is installed and works, beside this one or in the project that the process was started in.
 * @param what the feature that needs it, as the beginning of a sentence
 * @param use makes the result from the loaded package
 * @throws StratigraphError "DRIVER_MISSING" that names the command which installs it
 */
export async function withDriver<Driver, T>(
  what: string,
  names: readonly [string, ...string[]],
  use: (driver: Driver, name: string) => T | Promise<T>,
): Promise<T> {
  let cause: unknown;
  for (const name of names) {
    try {
      return await use(named(await load(name)) as Driver, name);
    } catch (error) {
      if (!isMissing(error)) throw error;
      cause ??= error;
    }
  }
  const [name] = names;
  const message = `${what} needs the package ${name}. Install it: npm install ${name}`;
  throw new StratigraphError("DRIVER_MISSING", message, { package: name }, cause);
}

async function load(name: string): Promise<unknown> {
  try {
    return (await import(/* @vite-ignore */ name)) as unknown;
  } catch (error) {
    if (!isMissing(error)) throw error;
    // Imported here, because bundles often declare a createRequire of their own at the top.
    const { createRequire } = await import("node:module");
    return createRequire(join(process.cwd(), "stratigraph.js"))(name) as unknown;
  }
}

/** Whether a package isn't there, or only its sources are, because its binary wasn't built. Vite puts a module that throws in its place. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  const codes = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_UNKNOWN_BUILTIN_MODULE"];
  const says = /could not locate the bindings file|^Could not resolve "[^"]+" imported by /i;
  return codes.includes(code ?? "") || says.test(message);
}

/** What a package exports, by name. A CommonJS one stands under `default`, or is itself the function that it exports. */
function named(loaded: unknown): unknown {
  if (typeof loaded === "function") return { default: loaded };
  const { default: own, ...rest } = loaded as { readonly default?: unknown };
  if (typeof own === "object" && own !== null) return { ...own, ...rest };
  return { ...(own === undefined ? {} : { default: own }), ...rest };
}
