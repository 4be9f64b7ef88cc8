import type { SearchItem } from "@langchain/langgraph-checkpoint";
import type { Author } from "./author.ts";
import type { ChangeOptions } from "./changeOptions.ts";
import type { Step } from "./steps.ts";

/** An item of a workspace. */
export interface WorkspaceItem extends SearchItem {
  /** Larger than those of all earlier changes of the workspace. */
  readonly version: number;
  /** Who made the last change. */
  readonly author: Author;
  readonly reason?: string | undefined;
}

/** What became of a write with conditions. On a conflict nothing was written. */
export type Written =
  | { readonly ok: true; /** The version of the change. */ readonly version: number }
  | { readonly ok: false; /** The item as it is. */ readonly current: WorkspaceItem | null };

/** Options of {@link Workspace.put} and {@link Workspace.delete}. */
export interface PutOptions
  extends ChangeOptions, Omit<Extract<Step, { put: unknown }>["put"], "namespace" | "key" | "value"> {}
