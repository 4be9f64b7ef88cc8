import type { RunnableConfig } from "@langchain/core/runnables";
import { StratigraphError } from "@stratigraph/core";
import type { LoadedApi } from "./langgraphApi.ts";
import type { ApiRun, BegunRun, Ops } from "./internals.ts";
import { keepInput } from "./keepInput.ts";
import type { OpsFile } from "./opsFile.ts";
import type { RunsUnderWay } from "./runsUnderWay.ts";
import { refuseClear, type Unawaited } from "./standIn.ts";
import type { StoredThreads } from "./storedThreads.ts";

/** LangGraph's threads and runs, which look into the storage before they say that there is no such thread. */
export function durableOps(
  api: LoadedApi,
  file: OpsFile,
  stored: StoredThreads,
  unawaited: Unawaited,
  underWay: RunsUnderWay,
): Ops {
  const { FileSystemOps, abortRun, logger } = api;
  const plain = new FileSystemOps(file);
  const ops = new FileSystemOps(file);
  /** Threads whose run was just rolled back. */
  const rolledBack = new Set<string>();
  around(ops.threads, ["get"], { before: async (id) => await stored.find(id as string) });
  /** Changes a thread, which no run begins on meanwhile, and stores what was changed. */
  const changing = async <T>(threadId: string, work: () => Promise<T>): Promise<T> => {
    await stored.find(threadId);
    try {
      return await underWay.changing(threadId, () => stored.changing(threadId, work));
    } catch (error) {
      if (StratigraphError.is(error, "NOT_FOUND")) await stored.find(threadId);
      throw error;
    }
  };
  for (const name of ["put", "patch"] as const) {
    const plainly = ops.threads[name].bind(ops.threads);
    ops.threads[name] = async (...args) => await changing(args[0], () => plainly(...args));
  }
  around(ops.threads.state, ["get", "list"], {
    // Whoever stops a run and looks at once sees what it left.
    before: async (config) => {
      const threadId: unknown = (config as RunnableConfig).configurable?.["thread_id"];
      if (typeof threadId !== "string") return;
      await underWay.stopped(underWay.of(threadId));
      await underWay.changed(threadId);
    },
  });
  Object.assign(ops.threads, {
    search: async function* (...[options, auth]: Parameters<Ops["threads"]["search"]>) {
      const sure = await stored.search(options);
      let found: Found[];
      do {
        found = [];
        for await (const each of plain.threads.search(options, auth)) found.push(each);
      } while (
        await stored.forgetDeleted(
          unsure(
            found.map(({ thread }) => thread.thread_id),
            sure,
          ),
        )
      );
      yield* found;
    },
    count: async (...[options, auth]: Parameters<Ops["threads"]["count"]>) => {
      const sure = await stored.search({ ...options, limit: Infinity });
      await stored.forgetDeleted(unsure(Object.keys(file.data.threads), sure));
      return await plain.threads.count(options, auth);
    },
    delete: async (...[threadId, auth]: Parameters<Ops["threads"]["delete"]>) => {
      const { runs } = file.data;
      const isTemporary = Object.values(runs).some(
        ({ thread_id, kwargs }) => thread_id === threadId && kwargs?.temporary === true,
      );
      try {
        await stored.find(threadId);
        return await stored.removing(threadId, async () => {
          const ofThread = Object.values(runs).filter(({ thread_id }) => thread_id === threadId);
          const deleted = await plain.threads.delete(threadId, auth);
          // What they still write is refused.
          for (const { run_id, status } of ofThread) if (status === "running") abortRun(run_id);
          await unawaited.ended(threadId);
          return deleted;
        });
      } catch (error) {
        if (!isTemporary) throw error;
        // Nobody asked for this deletion but the worker at the end of the run. An error would end the worker.
        logger.error(`Thread ${threadId}, of a run without a thread, isn't deleted: ${String(error)}`);
        return [threadId];
      }
    },
    // A run may end after its thread was deleted. LangGraph's own error would end the worker, which takes no further runs.
    setStatus: async (...[threadId, ended]: Parameters<Ops["threads"]["setStatus"]>) => {
      if (!(threadId in file.data.threads)) return;
      const isRolledBack = rolledBack.delete(threadId);
      await plain.threads.setStatus(threadId, isRolledBack ? {} : ended);
      try {
        if (isRolledBack) await stored.find(threadId);
        else if (ended.exception !== undefined) await stored.hasFailed(threadId);
      } catch (error) {
        logger.error(String(error));
      }
      // What its worker still does, such as calling a webhook, nobody waits for.
      const [runId] = underWay.of(threadId);
      if (runId !== undefined) underWay.ended(runId);
    },
    copy: async (...[threadId, auth]: Parameters<Ops["threads"]["copy"]>) => {
      await stored.find(threadId);
      const copied = await plain.threads.copy(threadId, auth);
      try {
        await unawaited.ended(copied.thread_id);
        await changing(copied.thread_id, () => Promise.resolve());
      } catch (error) {
        await file.with(({ threads }) => delete threads[copied.thread_id]);
        throw error;
      }
      return copied;
    },
  });
  const { put, delete: remove, cancel } = ops.runs;

  /** As if the run had never been. */
  async function rollBack({ run_id, thread_id }: ApiRun): Promise<void> {
    await stored.removeRun(thread_id, run_id);
    await file.with(({ runs }) => delete runs[run_id]);
    rolledBack.add(thread_id);
  }
  async function keep(run: ApiRun): Promise<void> {
    try {
      // Somebody may have deleted the thread: it doesn't begin anew.
      await stored.find(run.thread_id);
      if (!(run.run_id in file.data.runs)) return;
      await underWay.inPlaceOf(run.run_id, () => keepInput(api, stored, run));
    } catch (error) {
      logger.error(
        `The input of run ${run.run_id}, which was stopped, isn't in its thread: ${String(error)}`,
      );
    }
  }
  /** Whether a run would have begun by now, if workers looked more often. */
  const isDue = (run: ApiRun): boolean =>
    run.status === "pending" &&
    run.created_at <= new Date() &&
    (run.multitask_strategy !== "enqueue" ||
      !Object.values(file.data.runs).some(
        ({ thread_id, status, created_at, run_id }) =>
          thread_id === run.thread_id &&
          run_id !== run.run_id &&
          (status === "running" || (status === "pending" && created_at <= run.created_at)),
      ));

  Object.assign(ops.runs, {
    next: async function* () {
      for await (const begun of plain.runs.next() as AsyncGenerator<BegunRun>) {
        const { run, signal } = begun;
        underWay.began(run, signal);
        try {
          await underWay.changed(run.thread_id);
          // A run that began must never be taken for one that waits: it would be given its input twice after a kill.
          await file.flush().catch((error: unknown) => logger.error(String(error)));
          // It may have been deleted meanwhile.
          if (run.run_id in file.data.runs) yield begun;
        } finally {
          underWay.ended(run.run_id);
        }
      }
    },
    cancel: async (...args: Parameters<Ops["runs"]["cancel"]>) => {
      const [, runIds, { action }] = args;
      const due = runIds.flatMap((runId) => {
        const run = file.data.runs[runId];
        return run !== undefined && action !== "rollback" && isDue(run) ? [run] : [];
      });
      await cancel.apply(ops.runs, args);
      // What a person said stays, whether a worker had taken it up or not.
      for (const run of due)
        if (run.status === "interrupted")
          await underWay.changing(run.thread_id, async () => {
            const others = underWay.of(run.thread_id);
            await underWay.stopped(others);
            if (run.run_id in file.data.runs && others.every((each) => !underWay.has(each))) await keep(run);
          });
      await underWay.stopped(runIds);
    },
    setStatus: async (...[runId, status]: Parameters<Ops["runs"]["setStatus"]>) => {
      const stopped = await underWay.settled(runId);
      const run = file.data.runs[runId];
      if (run === undefined) return;
      if (stopped === "rollback") {
        try {
          return await rollBack(run);
        } catch (error) {
          logger.error(`Run ${runId} isn't rolled back: ${String(error)}`);
        }
      }
      if (stopped !== undefined && status === "interrupted") await keep(run);
      return await plain.runs.setStatus(runId, status);
    },
    put: async (...args: Parameters<Ops["runs"]["put"]>) => {
      const [runId, , , { threadId }] = args;
      const putting = () => put.apply(ops.runs, args);
      try {
        if (threadId !== undefined) return await changing(threadId, putting);
        const done = await putting();
        await changing(done[0]!.thread_id, () => Promise.resolve());
        return done;
      } catch (error) {
        await file.with(({ runs, threads }) => {
          const run = runs[runId];
          delete runs[runId];
          if (run !== undefined && threadId === undefined) delete threads[run.thread_id];
        });
        throw error;
      }
    },
    delete: async (...args: Parameters<Ops["runs"]["delete"]>) => {
      const [runId] = args;
      const threadId = file.data.runs[runId]?.thread_id;
      const deleting = async (): Promise<unknown> => {
        const deleted = await remove.apply(ops.runs, args);
        abortRun(runId);
        await unawaited.ended(runId);
        return deleted;
      };
      return threadId === undefined ? await deleting() : await stored.removing(threadId, deleting);
    },
  });
  const findOf = async (runId: string, threadId: string | null | undefined): Promise<void> => {
    const id = threadId ?? file.data.runs[runId]?.thread_id;
    if (id !== undefined) await stored.find(id);
  };
  around(ops.runs, ["get", "delete", "join", "wait"], {
    before: async (runId, threadId) => await findOf(runId as string, threadId as string | undefined),
  });
  around(ops.runs, ["search", "cancel"], {
    before: async (threadId, runIds) => await findOf((runIds as string[])[0] ?? "", threadId as string),
  });
  const { stream } = ops.runs;
  const join = stream.join.bind(stream);
  stream.join = async function* (runId, threadId, ...more) {
    await findOf(runId, threadId);
    yield* join(runId, threadId, ...more);
  };
  ops.assistants.delete = async (assistantId, deletesThreads, auth) => {
    if (deletesThreads) await stored.search({ metadata: { assistant_id: assistantId } });
    const threads = Object.values(file.data.threads).filter(
      (thread) => deletesThreads && thread.metadata["assistant_id"] === assistantId,
    );
    const deleted = await plain.assistants.delete(assistantId, deletesThreads, auth);
    for (const { thread_id } of threads) await stored.delete(thread_id);
    return deleted;
  };
  // What was answered is in the file.
  const after = async () => await file.flush();
  around(ops.threads, ["delete"], { after });
  around(ops.assistants, ["put", "patch", "delete", "setLatest"], { after });
  around(ops.runs, ["put", "delete"], { after });
  const truncate = ops.truncate.bind(ops);
  ops.truncate = (flags) =>
    flags["checkpointer"] === true || flags["store"] === true ? refuseClear() : truncate(flags);
  return ops;
}

type Found = Awaited<ReturnType<ReturnType<Ops["threads"]["search"]>["next"]>>["value"];

function unsure(threadIds: readonly string[], sure: ReadonlySet<string>): string[] {
  return threadIds.filter((threadId) => !sure.has(threadId));
}

/** Has something happen before calls of methods, or after them and before their answers. */
function around(
  of: object,
  names: readonly string[],
  {
    before,
    after,
  }: { before?: (first: unknown, second: unknown) => Promise<unknown>; after?: () => Promise<unknown> },
): void {
  const methods = of as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const name of names) {
    const method = methods[name]!.bind(of);
    methods[name] = async (...args) => {
      await before?.(args[0], args[1]);
      const done = await method(...args);
      await after?.();
      return done;
    };
  }
}
