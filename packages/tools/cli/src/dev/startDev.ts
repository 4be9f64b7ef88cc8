import { once } from "node:events";
import { createServer } from "node:net";
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { InvalidOptionError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { lockFolder, messageOf, type FolderLock } from "@stratigraph/core/internal";
import { durableOps } from "./durableOps.ts";
import type { StartOptions } from "./internals.ts";
import type { LangGraphApi, LoadedApi } from "./langgraphApi.ts";
import type { LangGraphJson } from "./langgraphJson.ts";
import { OpsFile, opsFolder } from "./opsFile.ts";
import { RunsUnderWay } from "./runsUnderWay.ts";
import { StoredThreads } from "./storedThreads.ts";
import { Unawaited, useSaver, useStore } from "./standIn.ts";

/** What {@link startDev} needs. */
export interface DevOptions {
  readonly api: LangGraphApi;
  readonly json: LangGraphJson;
  readonly saver: TierSaver;
  /** 0: a free one. */
  readonly port: number;
  readonly host: string;
  readonly quiet: boolean;
  /** How many runs there may be at once. Default 10, as in LangGraph's own command. */
  readonly workers?: number;
}

/** A dev server that listens. */
export interface RunningDev {
  /** Its address, without a slash at the end. */
  readonly url: string;
  /** Whether items of the store are in our storage: not every storage keeps items. */
  readonly keepsItems: boolean;
  /** Resolves if another dev server took its file over while this process was stopped. This one must be closed then, and stores nothing. */
  readonly lost: Promise<void>;
  /**
   * Aborts runs, which then count as interrupted, and stops listening, within some seconds.
   * @throws StratigraphError "LOCKED" if another dev server took its file over
   */
  close(): Promise<void>;
}

/** How long runs may take to end once they were aborted, in milliseconds, and how often to look. */
const graceMs = 3000;
const pollMs = 20;

/** Two servers with one file would take each other's runs for cut off, begin queued ones twice, and overwrite what they acknowledged. */
const oneServer =
  "One dev server keeps its assistants and runs there: stop the other one, or start this one with a langgraph.json in another folder " +
  "(--langgraph).";

/**
 * Starts LangGraph's dev server on our checkpointer and store.
 * @throws StratigraphError "MISCONFIGURED" if a graph can't be loaded, or the port is taken; "LOCKED" if there is one for this folder;
 * InvalidOptionError
 */
export async function startDev(options: DevOptions): Promise<RunningDev> {
  const { json, port } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidOptionError("port", port, "Pass a whole number from 0 (a free one) to 65535.");
  let onLost!: () => void;
  const lost = new Promise<void>((resolve) => (onLost = resolve));
  const known = port === 0 ? undefined : port;
  const use = { again: oneServer, held: oneServer, lost: oneServer, port: known, onLost };
  const lock = lockFolder(opsFolder(json.folder), use);
  try {
    return { ...(await started(options, lock)), lost };
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function started(
  { api, json, saver, port, host, quiet, workers = 10 }: DevOptions,
  lock: FolderLock,
): Promise<Omit<RunningDev, "lost">> {
  await checkPort(port, host);
  const graphs = Object.entries(json.graphs).map(([name, graph]) => {
    const path = typeof graph === "string" ? graph : graph.path;
    return [name, path] as const;
  });
  process.env["NODE_ENV"] ??= "development";
  if (port !== 0) process.env["LANGGRAPH_API_URL"] = urlOf(host, port);
  await api.prepare(resolve(json.folder, graphs[0]![1].replace(/:[^:]*$/, "")));
  const loaded = await api.load();
  logToStderr(loaded, quiet);
  const options = optionsOf(loaded, json, { port, host, nWorkers: workers });
  const unawaited = new Unawaited();
  const underWay = new RunsUnderWay(lock);
  const file = await OpsFile.open(json.folder, loaded, lock);
  const names = graphs.map(([name]) => name);
  const stored = new StoredThreads(saver, file, new loaded.FileSystemOps(file), names, loaded);
  await stored.begin();
  useSaver(loaded.checkpointer, saver, unawaited, underWay, (threadId) => stored.isStored(threadId));
  const keepsItems = useOurStore(loaded, saver);
  const ops = durableOps(loaded, file, stored, unawaited, underWay);
  const rest = (): void => {
    // LangGraph's workers ask for runs for ever. This one they wait for, and it keeps no process alive.
    ops.runs.next = async function* () {
      await new Promise(() => undefined);
      yield undefined;
    };
  };
  let server: Awaited<ReturnType<LoadedApi["startServer"]>>;
  try {
    server = await loaded.startServer(options, { ops });
  } catch (error) {
    rest();
    throw (error as NodeJS.ErrnoException).code === "EADDRINUSE"
      ? taken(port, host, error)
      : notLoaded(json, error);
  }
  const bound = Number(server.host.slice(server.host.lastIndexOf(":") + 1));
  const url = urlOf(host, bound);
  process.env["LANGGRAPH_API_URL"] = url;
  process.env["PORT"] = String(bound);
  return {
    url,
    keepsItems,
    close: async () => {
      rest();
      const running = (): string[] =>
        Object.values(file.data.runs).flatMap(({ run_id, status }) => (status === "running" ? [run_id] : []));
      for (const runId of running()) loaded.abortRun(runId);
      const end = performance.now() + graceMs;
      while (running().length > 0 && performance.now() < end) await wait(pollMs);
      try {
        await file.flush();
      } finally {
        await server.cleanup();
        lock.release();
      }
    },
  };
}

function useOurStore({ store }: LoadedApi, saver: TierSaver): boolean {
  try {
    useStore(store, saver.store());
    return true;
  } catch (error) {
    if (!StratigraphError.is(error, "INVALID_OPTION")) throw error;
    return false;
  }
}

function optionsOf(
  { parseOptions }: LoadedApi,
  { graphs, folder, file, auth, ui, ui_config, http }: LangGraphJson,
  where: Pick<StartOptions, "port" | "host" | "nWorkers">,
): StartOptions {
  try {
    return parseOptions({ ...where, cwd: folder, graphs, auth, ui, ui_config, http });
  } catch (error) {
    throw new StratigraphError("MISCONFIGURED", `${file} is wrong: ${messageOf(error)}`, { file }, error);
  }
}

/** stdout is for addresses. */
function logToStderr({ logger }: LoadedApi, quiet: boolean): void {
  for (const transport of logger.transports)
    transport.stderrLevels = Object.fromEntries(Object.keys(logger.levels).map((level) => [level, true]));
  if (quiet) logger.level = "error";
}

/** Learns that a port is taken before graphs are loaded. */
async function checkPort(port: number, host: string): Promise<void> {
  const probe = createServer().listen(port, host);
  try {
    await once(probe, "listening");
  } catch (error) {
    throw taken(port, host, error);
  }
  probe.close();
  await once(probe, "close");
}

function taken(port: number, host: string, error: unknown): StratigraphError {
  const { code } = error as NodeJS.ErrnoException;
  const why =
    code === "EADDRINUSE"
      ? `Port ${port} of ${host} is in use, perhaps by another dev server. End that, or choose another port: --port 2025.`
      : `It can't listen on port ${port} of ${host} (${code}). Choose another host or port.`;
  return new StratigraphError("MISCONFIGURED", why, { port, host }, error);
}

function notLoaded({ file }: LangGraphJson, error: unknown): StratigraphError {
  return new StratigraphError(
    "MISCONFIGURED",
    `The server can't start with ${file}: ${messageOf(error)}`,
    { file },
    error,
  );
}

function urlOf(host: string, port: number): string {
  const shown = host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}
