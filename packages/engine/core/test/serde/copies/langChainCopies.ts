import { createRequire } from "node:module";
import * as ownDocuments from "@langchain/core/documents";
import * as ownMessages from "@langchain/core/messages";
import * as ownPromptValues from "@langchain/core/prompt_values";
import * as documents12 from "langchain-core-1.2/documents";
import * as messages12 from "langchain-core-1.2/messages";
import * as promptValues12 from "langchain-core-1.2/prompt_values";
import * as documents14 from "langchain-core-1.4/documents";
import * as messages14 from "langchain-core-1.4/messages";
import * as promptValues14 from "langchain-core-1.4/prompt_values";

/** One copy of `@langchain/core`, as far as its classes are stored. */
export interface LangChain {
  readonly messages: typeof ownMessages;
  readonly promptValues: typeof ownPromptValues;
  readonly documents: typeof ownDocuments;
}

const require = createRequire(import.meta.url);

function required(name: string): LangChain {
  return {
    messages: require(`${name}/messages`) as LangChain["messages"],
    promptValues: require(`${name}/prompt_values`) as LangChain["promptValues"],
    documents: require(`${name}/documents`) as LangChain["documents"],
  };
}

/** Versions have types of their own; what tests use of them is in both. */
function imported(messages: object, promptValues: object, documents: object): LangChain {
  return { messages, promptValues, documents } as LangChain;
}

/** The copy that Stratigraph imports. It is one of {@link COPIES} where the versions are the same. */
export const OWN = imported(ownMessages, ownPromptValues, ownDocuments);

/** Two versions, both builds of each. */
export const COPIES: readonly [name: string, copy: LangChain][] = [
  ["1.2 as ESM", imported(messages12, promptValues12, documents12)],
  ["1.2 as CommonJS", required("langchain-core-1.2")],
  ["1.4 as ESM", imported(messages14, promptValues14, documents14)],
  ["1.4 as CommonJS", required("langchain-core-1.4")],
];

/** Those that are not the copy that Stratigraph imports. */
export const OTHERS = COPIES.filter(([, copy]) => copy.messages.AIMessage !== OWN.messages.AIMessage);
