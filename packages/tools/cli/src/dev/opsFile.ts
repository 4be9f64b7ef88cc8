import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { LoadedApi } from "./langgraphApi.ts";
import type { OpsData, Persistence } from "./internals.ts";
import { forFile, fromFile } from "./withoutClients.ts";

/** How long after a change the file is written, in milliseconds. LangGraph's own waits until nothing was read or written for 3 s. */
const writeAfterMs = 250;

/**
 * Assistants, runs and what threads are called, in LangGraph's own file. It is written by a rename: LangGraph's own takes a file that was cut off
 * for an empty one. What {@link forFile} leaves out isn't in it.
 */
export class OpsFile implements Persistence {
  readonly #file: string;
  readonly #api: Pick<LoadedApi, "serialize" | "deserialize" | "logger">;
  readonly #data: OpsData;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** A write that hasn't begun. */
  #next: Promise<void> | undefined;

  private constructor(file: string, data: OpsData, api: LoadedApi) {
    this.#file = file;
    this.#data = data;
    this.#api = api;
  }

  /** Reads the file of a folder. Runs that were under way when the process was killed are "interrupted" afterwards. */
  static async open(folder: string, api: LoadedApi): Promise<OpsFile> {
    const file = join(folder, ".langgraph_api", ".langgraphjs_ops.json");
    await mkdir(dirname(file), { recursive: true });
    const stored = await read(file, api);
    const data: OpsData = {
      runs: {},
      threads: {},
      assistants: {},
      assistant_versions: [],
      retry_counter: {},
      in_storage: {},
      failed_at: {},
      ...stored,
    };
    endCutOffRuns(data);
    for (const { run_id, lacks } of fromFile(data))
      api.logger.warn(
        `Run ${run_id} waited for its turn when the process was killed, and fails: ${lacks.join(", ")} of its client isn't in ${file}. Send it again.`,
      );
    const opened = new OpsFile(file, data, api);
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
    const text = this.#api.serialize(forFile(this.#data));
    const draft = `${this.#file}.${process.pid}`;
    await writeFile(draft, text);
    await rename(draft, this.#file);
  }
}

async function read(file: string, { deserialize, logger }: LoadedApi): Promise<OpsData | undefined> {
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

/** No run is under way in a process that just starts. */
function endCutOffRuns({ runs, threads }: OpsData): void {
  for (const run of Object.values(runs)) if (run.status === "running") run.status = "interrupted";
  for (const thread of Object.values(threads))
    if (thread.status === "busy" && !isInFlight(runs, thread.thread_id)) thread.status = "error";
}

/** Whether a run of a thread is under way, or waits for its turn. */
export function isInFlight(runs: OpsData["runs"], threadId: string): boolean {
  return Object.values(runs).some(
    ({ thread_id, status }) => thread_id === threadId && (status === "pending" || status === "running"),
  );
}
