import { Command } from "@langchain/langgraph";
import { createMiddleware, type AgentMiddleware } from "langchain";
import { z } from "zod";
import type { Journal } from "./journal.ts";
import { chainKey } from "./langgraph/chain.ts";

/**
 * The middleware that keeps the chain of calls in the state of an agent made by `createAgent`. Calls of the journal's tools need it to be
 * told apart where messages are trimmed or summarised.
 *
 * @example
 * createAgent({ model, tools: journal.tools([pay]), middleware: [journalMiddleware(journal)], checkpointer });
 */
export function journalMiddleware(journal: Journal): AgentMiddleware {
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
