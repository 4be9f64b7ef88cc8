import type { LogPage, LogQuery, WorkspaceStorage } from "@stratigraph/core/tier";

/**
 * Reads of a workspace's log by those of this process who follow it. Those who ask for the same entries share one read, if it hasn't begun:
 * one that began before they asked might miss what they were told of.
 */
export class SharedReads {
  readonly #workspaces: WorkspaceStorage;
  readonly #name: string;
  readonly #waiting = new Map<string, Promise<LogPage>>();
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(workspaces: WorkspaceStorage, name: string) {
    this.#workspaces = workspaces;
    this.#name = name;
  }

  async log(query: LogQuery): Promise<LogPage> {
    const key = JSON.stringify(query);
    const reading = this.#waiting.get(key) ?? this.#read(key, query);
    this.#waiting.set(key, reading);
    return await reading;
  }

  async #read(key: string, query: LogQuery): Promise<LogPage> {
    // Those who were woken together come along.
    await (this.#running.get(key) ?? new Promise((resolve) => setImmediate(resolve)));
    this.#waiting.delete(key);
    const reading = this.#workspaces.log(this.#name, query);
    const running = reading.then(nothing, nothing);
    this.#running.set(key, running);
    try {
      return await reading;
    } finally {
      if (this.#running.get(key) === running) this.#running.delete(key);
    }
  }
}

function nothing(): void {}
