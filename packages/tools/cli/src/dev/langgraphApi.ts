import { readFileSync } from "node:fs";
import { createRequire, register } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { StratigraphError } from "@stratigraph/core";
import type { Graph, GraphStorage, Logger, Ops, OpsData, Persistence, StartOptions } from "./internals.ts";

/**
 * The versions of @langchain/langgraph-api that the tests run. What `dev` replaces is no public interface of that package, so another version
 * may lose data without an error: it is refused.
 */
export const testedVersions: readonly string[] = ["1.5.0", "1.5.1"];

const name = "@langchain/langgraph-api";
const install = `npm install --save-dev --save-exact ${name}@${testedVersions.at(-1)}`;

/** The installed package. */
export interface LangGraphApi {
  readonly version: string;
  /** Lets Node import TypeScript, as LangGraph's own command does. Call it before any graph is imported. */
  prepare(firstGraph: string): Promise<void>;
  load(): Promise<LoadedApi>;
}

/** The modules of the package that are used. */
export interface LoadedApi {
  readonly startServer: (
    options: StartOptions,
    storage: { readonly ops: Ops },
  ) => Promise<{ readonly host: string; cleanup(): Promise<void> }>;
  readonly parseOptions: (options: unknown) => StartOptions;
  readonly checkpointer: GraphStorage;
  readonly store: GraphStorage;
  readonly FileSystemOps: new (data: Persistence) => Ops;
  readonly abortRun: (runId: string) => void;
  readonly getGraph: (graphId: string, config: object | undefined, options: object) => Promise<Graph>;
  readonly serialize: (data: object) => string;
  readonly deserialize: (text: string) => Promise<OpsData>;
  readonly logger: Logger;
}

/**
 * Finds LangGraph's dev server in the project.
 * @throws StratigraphError "DRIVER_MISSING" if it isn't installed, "MISCONFIGURED" if it is a version that was never tested
 */
export function findLangGraphApi(folder: string): LangGraphApi {
  const file = packageFile(folder);
  if (file === undefined)
    throw new StratigraphError("DRIVER_MISSING", `LangGraph's dev server isn't installed. Run: ${install}`, {
      package: name,
      tested: testedVersions,
    });
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  if (!testedVersions.includes(version))
    throw new StratigraphError(
      "MISCONFIGURED",
      `${name} ${version} was never tested with this version of Stratigraph: ${testedVersions.join(" and ")} were. ` +
        `(On npm, 2.0.0 is older than these, although it is tagged as the latest.) Run: ${install}`,
      { package: name, found: version, tested: testedVersions },
    );
  return {
    version,
    prepare: (firstGraph) => prepare(file, firstGraph),
    load: () => load(dirname(file)),
  };
}

function packageFile(folder: string): string | undefined {
  try {
    return createRequire(join(folder, "package.json")).resolve(`${name}/package.json`);
  } catch {
    return undefined;
  }
}

/** What LangGraph's `cli/spawn-args.mjs` and `preload.mjs` do in a new process. */
async function prepare(packageJson: string, firstGraph: string): Promise<void> {
  const { resolve } = createRequire(packageJson);
  // As `node --import tsx` does.
  await import(pathToFileURL(resolve("tsx")).href);
  register("./dist/graph/load.hooks.mjs", pathToFileURL(packageJson).href, {
    data: { parentURL: pathToFileURL(firstGraph).href },
  });
}

async function load(folder: string): Promise<LoadedApi> {
  const module = async <T>(path: string): Promise<T> =>
    (await import(pathToFileURL(join(folder, "dist", `${path}.mjs`)).href)) as T;
  const [server, checkpoint, store, ops, graphs, persist, logging] = await Promise.all([
    module<Pick<LoadedApi, "startServer"> & { StartServerSchema: { parse(value: unknown): StartOptions } }>(
      "server",
    ),
    module<Pick<LoadedApi, "checkpointer">>("storage/checkpoint"),
    module<Pick<LoadedApi, "store">>("storage/store"),
    module<Pick<LoadedApi, "FileSystemOps"> & { StreamManager: Streams }>("storage/ops"),
    module<Pick<LoadedApi, "getGraph">>("graph/load"),
    module<Pick<LoadedApi, "serialize" | "deserialize">>("storage/persist"),
    module<Pick<LoadedApi, "logger">>("logging"),
  ]);
  return {
    startServer: server.startServer,
    parseOptions: (options) => server.StartServerSchema.parse(options),
    checkpointer: checkpoint.checkpointer,
    store: store.store,
    FileSystemOps: ops.FileSystemOps,
    abortRun: (runId) => ops.StreamManager.getControl(runId)?.abort("interrupt"),
    getGraph: graphs.getGraph,
    serialize: persist.serialize,
    deserialize: persist.deserialize,
    logger: logging.logger,
  };
}

/** Runs that are under way, and how they are aborted. */
interface Streams {
  getControl(runId: string): { abort(reason: string): void } | undefined;
}
