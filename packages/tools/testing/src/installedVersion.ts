import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Packages of which the suites expect different behaviour in different versions. */
type KnownPackage = "@langchain/langgraph" | "@langchain/langgraph-checkpoint";

/** The version of a package that these suites load, for example `"1.7.3"`. */
export const installedVersion = (name: KnownPackage): string => {
  const path = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const manifest: unknown = JSON.parse(readFileSync(path, "utf8"));
  const version: unknown =
    typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : undefined;
  if (typeof version !== "string") throw new Error(`${path} has no version`);
  return version;
};

/** Whether a version is `wanted` or newer. Both are plain `major.minor.patch`. */
export const isVersionFrom = (version: string, wanted: string): boolean =>
  version.localeCompare(wanted, "en", { numeric: true }) >= 0;

/** Whether the installed version of a package is `wanted` or newer. */
export const isAtLeast = (name: KnownPackage, wanted: string): boolean =>
  isVersionFrom(installedVersion(name), wanted);
