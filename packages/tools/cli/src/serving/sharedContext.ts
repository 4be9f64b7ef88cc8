import type { TierSaver } from "@stratigraph/core";
import { NotFoundError } from "@stratigraph/core";
import type { Context } from "../operations/index.ts";
import { ParsedValues } from "../operations/values/parsedValues.ts";
import type { ServedOptions } from "./options.ts";

/** The part of an operation's context that all requests share. */
export type SharedContext = Omit<Context, "signal" | "progress" | "emit">;

/** The context of a server, without what differs from request to request. */
export function sharedContext(options: ServedOptions): SharedContext {
  const { redact = [], cwd = process.cwd(), origin = "this process" } = options;
  return {
    saver: opener(options.saver),
    open: (place) =>
      Promise.reject(new NotFoundError(`A server opens no other storage: ${place} was asked for.`, {})),
    graph:
      options.graph ??
      (() =>
        Promise.reject(
          new NotFoundError(`There are no graphs (${origin}). Name them in the config: graphs.`, {}),
        )),
    redact,
    sign: options.sign,
    parsed: new ParsedValues(),
    cwd,
    origin,
  };
}

/** Opens a saver at the first call, and returns it to all later ones. After a failure, the next call opens it again. */
function opener(saver: ServedOptions["saver"]): () => Promise<TierSaver> {
  if (typeof saver !== "function") return () => Promise.resolve(saver);
  let opened: Promise<TierSaver> | undefined;
  return () => {
    if (opened !== undefined) return opened;
    const opening = saver();
    opened = opening;
    opening.catch(() => {
      opened = undefined;
    });
    return opening;
  };
}
