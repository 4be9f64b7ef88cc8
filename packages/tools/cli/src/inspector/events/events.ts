import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { validId } from "@stratigraph/core/internal";
import { HttpError } from "../../serving/errors.ts";
import { EventStream } from "../api/eventStream.ts";
import { queryOf } from "../../serving/input.ts";
import type { Listener, Watcher } from "../../serving/watcher.ts";

/** How many streams may be open at once. Each open tab has one. */
const mostStreams = 32;

/** How many threads one stream may watch. */
const mostThreads = 100;

/** Streams of events about threads, one for each page that is open. */
export class Events {
  readonly #watcher: Watcher;
  readonly #streams = new Set<EventStream>();

  constructor(watcher: Watcher) {
    this.#watcher = watcher;
  }

  /** @throws InvalidOptionError, InvalidAddressError; HttpError 405; StratigraphError "OVERLOADED" */
  answer(request: Request): Response {
    // HEAD would begin a stream that nobody reads, and nobody ends.
    if (request.method !== "GET")
      throw new HttpError(405, new InvalidOptionError("method", request.method, "Ask with GET."));
    const threads = [...new Set(queryOf(request).getAll("thread"))].map((id) => validId("thread", id));
    if (threads.length > mostThreads)
      throw new InvalidOptionError("thread", threads.length, `Watch ${mostThreads} threads at most.`);
    if (this.#streams.size >= mostStreams)
      throw new StratigraphError("OVERLOADED", `${mostStreams} pages are open already. Close one of them.`);
    const stream: EventStream = new EventStream(() => {
      this.#watcher.remove(listener);
      this.#streams.delete(stream);
      request.signal.removeEventListener("abort", end);
    });
    const end = (): void => stream.end();
    const listener: Listener = {
      threads,
      revision: (thread, revision, isFirst) =>
        stream.send("revision", { thread, revision, ...(isFirst ? { first: true } : {}) }),
      newest: () => stream.send("threads", {}),
      storage: (error) => stream.send("storage", error === undefined ? { up: true } : { up: false, error }),
    };
    request.signal.addEventListener("abort", end, { once: true });
    this.#streams.add(stream);
    this.#watcher.add(listener);
    return stream.response;
  }

  /** Ends all streams. */
  end(): void {
    for (const stream of this.#streams) stream.end();
  }
}
