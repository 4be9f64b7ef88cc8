import { checkOptions } from "@stratigraph/core/internal";
import { Command } from "@langchain/langgraph";
import { createMiddleware, type AgentMiddleware } from "langchain";
import { z } from "zod";
import { chainKey, type ChainState } from "./langgraph/chain.ts";
import type { ModelLike } from "./langgraph/wrapModel.ts";

/** What the middleware needs of a journal, or of a replay. */
export interface ChainKeeper {
  next(state: unknown, message: unknown, config?: unknown): { readonly [chainKey]?: ChainState };
  model<M extends ModelLike>(model: M): M;
}

/** Options of {@link journalMiddleware}. */
export interface JournalMiddlewareOptions {
  /** Record the model's answers too: the same question at the same place gets the recorded one, and costs no tokens. Default false. */
  readonly models?: boolean | undefined;
}

/**
 * The middleware that keeps the chain of calls in the state of an agent made by `createAgent`. Calls of the journal's tools are refused
 * without it ("NOT_WIRED").
 * @throws InvalidOptionError
 *
 * @example
 * createAgent({ model, tools: journal.tools([pay], { pay: "once" }), middleware: [journalMiddleware(journal)], checkpointer });
 */
export function journalMiddleware(
  journal: ChainKeeper,
  options: JournalMiddlewareOptions = {},
): AgentMiddleware {
  checkOptions<JournalMiddlewareOptions>("journalMiddleware", options, { models: true });
  const { models = false } = options;
  return createMiddleware({
    name: "StratigraphJournal",
    stateSchema: z.object({ [chainKey]: z.any().optional() }),
    wrapModelCall: async (request, handler) => {
      const message = await handler(
        models
          ? { ...request, model: journal.model(request.model as ModelLike) as typeof request.model }
          : request,
      );
      const update = journal.next(request.state, message, request.runtime);
      return update[chainKey] === undefined ? message : new Command({ update });
    },
  }) as AgentMiddleware;
}
