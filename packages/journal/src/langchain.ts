import { Command } from "@langchain/langgraph";
import { createMiddleware, type AgentMiddleware } from "langchain";
import { z } from "zod";
import { chainKey, type ChainState } from "./langgraph/chain.ts";

/** What the middleware needs of a journal, or of a replay. */
export interface ChainKeeper {
  next(state: unknown, message: unknown, config?: unknown): { readonly [chainKey]?: ChainState };
}

/**
 * The middleware that keeps the chain of calls in the state of an agent made by `createAgent`. Calls of the journal's tools need it to be
 * told apart where messages are trimmed or summarised.
 *
 * @example
 * createAgent({ model, tools: journal.tools([pay]), middleware: [journalMiddleware(journal)], checkpointer });
 */
export function journalMiddleware(journal: ChainKeeper): AgentMiddleware {
  return createMiddleware({
    name: "StratigraphJournal",
    stateSchema: z.object({ [chainKey]: z.any().optional() }),
    wrapModelCall: async (request, handler) => {
      const message = await handler(request);
      const update = journal.next(request.state, message, request.runtime);
      return update[chainKey] === undefined ? message : new Command({ update });
    },
  }) as AgentMiddleware;
}
