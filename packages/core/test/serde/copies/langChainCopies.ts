import { createRequire } from "node:module";
import type * as documentsModule from "@langchain/core/documents";
import type * as messagesModule from "@langchain/core/messages";
import type * as promptValuesModule from "@langchain/core/prompt_values";

/** One copy of `@langchain/core`, as far as its classes are stored. */
export interface LangChain {
  readonly messages: typeof messagesModule;
  readonly promptValues: typeof promptValuesModule;
  readonly documents: typeof documentsModule;
}

const require = createRequire(import.meta.url);

function required(name: string): LangChain {
  return {
    messages: require(`${name}/messages`) as LangChain["messages"],
    promptValues: require(`${name}/prompt_values`) as LangChain["promptValues"],
    documents: require(`${name}/documents`) as LangChain["documents"],
  };
}

async function imported(name: string): Promise<LangChain> {
  return {
    messages: (await import(/* @vite-ignore */ `${name}/messages`)) as LangChain["messages"],
    promptValues: (await import(/* @vite-ignore */ `${name}/prompt_values`)) as LangChain["promptValues"],
    documents: (await import(/* @vite-ignore */ `${name}/documents`)) as LangChain["documents"],
  };
}

/** The copy that Stratigraph imports. It is one of {@link COPIES} where the versions are the same. */
export const OWN = await imported("@langchain/core");

/** Two versions, both builds of each. */
export const COPIES: readonly [name: string, copy: LangChain][] = [
  ["1.2 as ESM", await imported("langchain-core-1.2")],
  ["1.2 as CommonJS", required("langchain-core-1.2")],
  ["1.4 as ESM", await imported("langchain-core-1.4")],
  ["1.4 as CommonJS", required("langchain-core-1.4")],
];

/** Those that are not the copy that Stratigraph imports. */
export const OTHERS = COPIES.filter(([, copy]) => copy.messages.AIMessage !== OWN.messages.AIMessage);
