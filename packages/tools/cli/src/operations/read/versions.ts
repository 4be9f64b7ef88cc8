import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** One package, as the project in the working directory loads it. */
export interface InstalledPackage {
  readonly name: string;
  /** Absent if the package isn't installed, or states no version. */
  readonly version?: string | undefined;
  /** The oldest version that is supported; newer ones of the same major version are, too. */
  readonly oldest: string;
  /** Different versions that other packages load instead. */
  readonly others: readonly string[];
}

/** LangGraph's packages, and the oldest version of each that is supported: as the peer dependencies of ours say. */
export const supported: Readonly<Record<string, string>> = {
  "@langchain/langgraph": "1.4.12",
  "@langchain/langgraph-checkpoint": "1.1.5",
  "@langchain/core": "1.1.48",
};

/** The oldest Node.js that is supported. */
export const oldestNode = "20.19.0";

/** LangGraph's packages as a project loads them. @param folder of the project */
export function installedPackages(folder: string): InstalledPackage[] {
  const project = join(folder, "package.json");
  const graph = manifestOf("@langchain/langgraph", project);
  return Object.entries(supported).map(([name, oldest]) => {
    const found = manifestOf(name, project);
    const fromGraph = graph === undefined ? undefined : manifestOf(name, graph.path);
    const version = found?.version ?? fromGraph?.version;
    const other = fromGraph?.version;
    const others = other === undefined || other === version ? [] : [other];
    return { name, oldest, others, ...(version === undefined ? {} : { version }) };
  });
}

/** Whether a version is `oldest` or newer, of the same major version. */
export function isSupported(version: string, oldest: string): boolean {
  const isNewer = version.localeCompare(oldest, "en", { numeric: true }) >= 0;
  return isNewer && version.split(".", 1)[0] === oldest.split(".", 1)[0];
}

/** The package.json of a package as the file `from` would load it. */
function manifestOf(
  name: string,
  from: string,
): { readonly path: string; readonly version: string } | undefined {
  try {
    const path = createRequire(from).resolve(`${name}/package.json`);
    const { version } = JSON.parse(readFileSync(path, "utf8")) as { readonly version?: unknown };
    return typeof version === "string" ? { path, version } : undefined;
  } catch {
    return undefined;
  }
}
