import { randomBytes } from "node:crypto";
import { StratigraphError } from "@stratigraph/core";
import { sleep } from "@stratigraph/core/internal";
import type { Commit, CommitResult, WorkspaceStorage } from "@stratigraph/core/tier";

/** How many commits, and about how many bytes of values, go to the storage together. */
const [mostCommits, mostBytes] = [100, 4_000_000];

/** Pauses before a commit without an answer is repeated, in milliseconds. */
const pausesMs = [100, 500, 2000];

type Made = Exclude<CommitResult, { failed: unknown }>;

interface Waiting {
  readonly commit: Commit;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Commits of one workspace in this process. The storage makes them one after another, so those that come while one is under way go there
 * together, as one call.
 */
export class CommitQueue {
  readonly #workspaces: WorkspaceStorage;
  readonly #name: string;
  #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(workspaces: WorkspaceStorage, name: string) {
    this.#workspaces = workspaces;
    this.#name = name;
  }

  /** Makes a commit, once, however often it has to be sent. @throws what the storage throws: whether it was made isn't known then */
  async commit(commit: Omit<Commit, "id">): Promise<CommitResult> {
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ commit: { ...commit, id: randomBytes(16).toString("hex") }, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // What else is begun in this moment goes along.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#send(this.#next());
    this.#isRunning = false;
  }

  #next(): Waiting[] {
    let bytes = 0;
    const count = this.#waiting.findIndex(({ commit }, place) => {
      for (const { value } of commit.changes) bytes += value?.length ?? 0;
      return place > 0 && (place === mostCommits || bytes > mostBytes);
    });
    return this.#waiting.splice(0, count === -1 ? this.#waiting.length : count);
  }

  async #send(waiting: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#sent(waiting.map(({ commit }) => commit));
      for (const [place, { resolve }] of waiting.entries()) resolve(results[place]!);
    } catch (error) {
      if (waiting.length === 1) waiting[0]!.reject(error);
      // One that the storage refuses is no reason to refuse the others.
      else if (isPassing(error)) for (const { reject } of waiting) reject(error);
      else for (const one of waiting) await this.#send([one]);
    }
  }

  async #sent(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#workspaces.commit(this.#name, commits, { isRepeat: attempt > 0 });
      } catch (error) {
        const pauseMs = pausesMs[attempt];
        if (!isPassing(error) || pauseMs === undefined) throw error;
        await sleep(pauseMs);
      }
    }
  }
}

function isPassing(error: unknown): boolean {
  return StratigraphError.is(error) && error.retryable;
}

/** Whether a commit was made. */
export function isMade(result: CommitResult): result is Made {
  return "versions" in result;
}
