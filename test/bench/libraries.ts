import { createRequire } from "node:module";
// Types only: a process that measures one build must not load the other one.
import type * as langchain from "@langchain/core/messages";
import type * as langgraph from "@langchain/langgraph";
import type * as checkpoint from "@langchain/langgraph-checkpoint";

/** How an application gets LangGraph, LangChain, their savers and ours: imported, or required. */
export type Build = "esm" | "cjs";

export const BUILDS: readonly Build[] = ["esm", "cjs"];

export const BUILD_LABELS: Readonly<Record<Build, string>> = { esm: "ESM", cjs: "CommonJS" };

/** What is used of LangGraph, of whichever build. */
export type LangGraph = Pick<
  typeof langgraph,
  "Annotation" | "END" | "MessagesAnnotation" | "START" | "StateGraph"
>;

/** The classes that are used of LangChain's messages, of whichever build. */
export type LangChain = Pick<
  typeof langchain,
  "AIMessage" | "HumanMessage" | "SystemMessage" | "ToolMessage"
>;

/** What is used of LangGraph's base package for savers, of whichever build. */
export type CheckpointLibrary = Pick<typeof checkpoint, "BaseCheckpointSaver" | "MemorySaver">;

/** The libraries of an application. */
export interface Libraries {
  langgraph: LangGraph;
  messages: LangChain;
  checkpoint: CheckpointLibrary;
}

/** Loads a module as an application of `build` does. */
export function load<Module>(build: Build, specifier: string): Promise<Module> {
  const require = createRequire(import.meta.url);
  return build === "cjs"
    ? Promise.resolve(require(specifier) as Module)
    : (import(specifier) as Promise<Module>);
}

/** Loads the libraries of one build. */
export async function loadLibraries(build: Build): Promise<Libraries> {
  return {
    langgraph: await load<LangGraph>(build, "@langchain/langgraph"),
    messages: await load<LangChain>(build, "@langchain/core/messages"),
    checkpoint: await load<CheckpointLibrary>(build, "@langchain/langgraph-checkpoint"),
  };
}
