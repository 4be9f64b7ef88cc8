import type { LoadedApi } from "./langgraphApi.ts";
import type { Ops } from "./internals.ts";
import type { OpsFile } from "./opsFile.ts";
import { refuseClear, type Unawaited } from "./standIn.ts";
import type { StoredThreads } from "./storedThreads.ts";

/** LangGraph's threads and runs, which look into the storage before they say that there is no such thread. */
export function durableOps(
  { FileSystemOps, abortRun, logger }: LoadedApi,
  file: OpsFile,
  stored: StoredThreads,
  unawaited: Unawaited,
): Ops {
  const plain = new FileSystemOps(file);
  const ops = new FileSystemOps(file);
  for (const name of ["get", "put", "patch"] as const) findFirst(ops.threads, name, stored);
  Object.assign(ops.threads, {
    search: async function* (...[options, auth]: Parameters<Ops["threads"]["search"]>) {
      await stored.search(options);
      yield* plain.threads.search(options, auth);
    },
    count: async (...[options, auth]: Parameters<Ops["threads"]["count"]>) => {
      await stored.search({ ...options, limit: Infinity });
      return await plain.threads.count(options, auth);
    },
    delete: async (...[threadId, auth]: Parameters<Ops["threads"]["delete"]>) => {
      const { runs } = file.data;
      const isTemporary = Object.values(runs).some(
        ({ thread_id, kwargs }) => thread_id === threadId && kwargs?.temporary === true,
      );
      try {
        await stored.find(threadId);
        const ofThread = Object.values(runs).filter(({ thread_id }) => thread_id === threadId);
        const deleted = await plain.threads.delete(threadId, auth);
        stored.forget(threadId);
        // What they still write would be refused.
        for (const { run_id, status } of ofThread) if (status === "running") abortRun(run_id);
        await unawaited.ended(threadId);
        return deleted;
      } catch (error) {
        if (!isTemporary) throw error;
        // Nobody asked for this deletion but the worker at the end of the run. An error would end the worker.
        logger.error(`Thread ${threadId}, of a run without a thread, isn't deleted: ${String(error)}`);
        return [threadId];
      }
    },
    // A run may end after its thread was deleted. LangGraph's own error would end the worker, which takes no further runs.
    setStatus: async (...[threadId, ended]: Parameters<Ops["threads"]["setStatus"]>) =>
      threadId in file.data.threads ? await plain.threads.setStatus(threadId, ended) : undefined,
    copy: async (...[threadId, auth]: Parameters<Ops["threads"]["copy"]>) => {
      await stored.find(threadId);
      const copied = await plain.threads.copy(threadId, auth);
      await unawaited.ended(copied.thread_id);
      return copied;
    },
  });
  const { put, delete: remove } = ops.runs;
  Object.assign(ops.runs, {
    next: async function* () {
      for await (const begun of plain.runs.next()) {
        // A run that began must never be taken for one that waits: it would be given its input twice after a kill.
        await file.flush().catch((error: unknown) => logger.error(String(error)));
        yield begun;
      }
    },
    setStatus: async (...[runId, status]: Parameters<Ops["runs"]["setStatus"]>) =>
      runId in file.data.runs ? await plain.runs.setStatus(runId, status) : undefined,
    put: async (...args: Parameters<Ops["runs"]["put"]>) => {
      const { threadId } = args[3];
      if (threadId !== undefined) await stored.find(threadId);
      return await put.apply(ops.runs, args);
    },
    delete: async (...args: Parameters<Ops["runs"]["delete"]>) => {
      const deleted = await remove.apply(ops.runs, args);
      await unawaited.ended(args[0]);
      return deleted;
    },
  });
  ops.assistants.delete = async (assistantId, deletesThreads, auth) => {
    if (deletesThreads) await stored.search({ metadata: { assistant_id: assistantId } });
    const threads = Object.values(file.data.threads).filter(
      (thread) => deletesThreads && thread.metadata["assistant_id"] === assistantId,
    );
    const deleted = await plain.assistants.delete(assistantId, deletesThreads, auth);
    for (const { thread_id } of threads) await stored.delete(thread_id);
    return deleted;
  };
  const truncate = ops.truncate.bind(ops);
  ops.truncate = (flags) =>
    flags["checkpointer"] === true || flags["store"] === true ? refuseClear() : truncate(flags);
  return ops;
}

function findFirst(threads: Ops["threads"], name: "get" | "put" | "patch", stored: StoredThreads): void {
  const method = threads[name].bind(threads) as (threadId: string, ...rest: unknown[]) => Promise<unknown>;
  Object.assign(threads, {
    [name]: async (threadId: string, ...rest: unknown[]) => {
      await stored.find(threadId);
      return await method(threadId, ...rest);
    },
  });
}
