import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FolderLock } from "@stratigraph/core/internal";
import type { LoadedApi } from "./langgraphApi.ts";
import type { OpsData, Persistence } from "./internals.ts";
import { forFile, fromFile, type OldThreads } from "./withoutClients.ts";

/** How long after a change the file is written, in milliseconds. LangGraph's own waits until nothing was read or written for 3 s. */
const writeAfterMs = 250;

/** Where LangGraph's server keeps its files. */
export function opsFolder(folder: string): string {
  return join(folder, ".langgraph_api");
}

/**
 * Assistants and runs, in LangGraph's own file. It is written by a rename: LangGraph's own takes a file that was cut off for an empty one.
 * Threads, which are in the storage, and what {@link forFile} leaves out, aren't in it.
 */
export class OpsFile implements Persistence {
  readonly #file: string;
  readonly #api: Pick<LoadedApi, "serialize" | "deserialize" | "logger">;
  readonly #lock: Pick<FolderLock, "check">;
  readonly #data: OpsData;
  /** Threads that an earlier version had in the file, and that aren't in the storage yet. */
  readonly old: OldThreads;
  /** The threads of runs that were under way when the process was killed. */
  readonly cutOff: ReadonlySet<string>;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** A write that hasn't begun. */
  #next: Promise<void> | undefined;

  private constructor(
    file: string,
    data: OpsData,
    old: OldThreads,
    api: LoadedApi,
    lock: Pick<FolderLock, "check">,
  ) {
    this.#file = file;
    this.#lock = lock;
    this.cutOff = endCutOffRuns(data);
    this.#data = data;
    this.old = old;
    this.#api = api;
  }

  /**
   * Reads the file of a folder. Runs that were under way when the process was killed are "interrupted" afterwards.
   * @param lock that of the file's folder: whoever lost it writes nothing
   */
  static async open(folder: string, api: LoadedApi, lock: Pick<FolderLock, "check">): Promise<OpsFile> {
    const file = join(opsFolder(folder), ".langgraphjs_ops.json");
    await mkdir(dirname(file), { recursive: true });
    const stored = await read(file, api);
    const { runs = {}, assistants = {}, assistant_versions = [], retry_counter = {} } = stored ?? {};
    const data: OpsData = { runs, threads: {}, assistants, assistant_versions, retry_counter };
    const { threads = {}, in_storage = {} } = stored ?? {};
    const opened = new OpsFile(file, data, { threads, in_storage }, api, lock);
    for (const { run_id, lacks } of fromFile(data))
      api.logger.warn(
        `Run ${run_id} waited for its turn when the process was killed, and fails: ${lacks.join(", ")} of its client isn't in ${file}. Send it again.`,
      );
    // Earlier versions left more in the file.
    if (stored !== undefined) await opened.flush();
    return opened;
  }

  /** The data itself. Whoever changes it does so in {@link with}. */
  get data(): OpsData {
    return this.#data;
  }

  async with<T>(work: (data: OpsData) => T): Promise<Awaited<T>> {
    try {
      return await work(this.#data);
    } finally {
      this.#writeSoon();
    }
  }

  async *withGenerator<T>(
    work: (data: OpsData, options: { schedulePersist(): void }) => AsyncGenerator<T>,
  ): AsyncGenerator<T> {
    yield* work(this.#data, { schedulePersist: () => this.#writeSoon() });
  }

  /** Writes the file, after a write that is under way. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#next !== undefined) return this.#next;
    const writing = this.#writing.then(() => {
      this.#next = undefined;
      return this.#write();
    });
    this.#next = writing;
    this.#writing = writing.catch(() => undefined);
    return writing;
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.flush().catch((error: unknown) => {
        this.#api.logger.error(`${this.#file} can't be written: ${String(error)}`);
      });
    }, writeAfterMs);
  }

  async #write(): Promise<void> {
    const text = this.#api.serialize(forFile(this.#data, this.old));
    const draft = `${this.#file}.${process.pid}`;
    this.#lock.check();
    // Settings of assistants are in it.
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, this.#file);
  }
}

async function read(
  file: string,
  { deserialize, logger }: LoadedApi,
): Promise<Partial<OpsData & OldThreads> | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return await deserialize(text);
  } catch (error) {
    const kept = `${file}.unreadable-${Date.now()}`;
    await rename(file, kept);
    logger.warn(
      `${file} can't be read (${String(error)}): assistants and runs begin anew, threads are in the storage. The file is kept as ${kept}.`,
    );
    return undefined;
  }
}

/** No run is under way in a process that just starts. @returns the threads of those that were */
function endCutOffRuns({ runs }: OpsData): Set<string> {
  const cutOff = Object.values(runs).filter(({ status }) => status === "running");
  for (const run of cutOff) run.status = "interrupted";
  return new Set(cutOff.map(({ thread_id }) => thread_id));
}

/** Whether a run of a thread is under way, or waits for its turn. */
export function isInFlight(runs: OpsData["runs"], threadId: string): boolean {
  return Object.values(runs).some(
    ({ thread_id, status }) => thread_id === threadId && (status === "pending" || status === "running"),
  );
}
