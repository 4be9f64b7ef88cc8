import { NotFoundError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { keepsItems, keepsWorkspaces } from "@stratigraph/core/internal";
import type { Items, WorkspaceState, WorkspaceStorage } from "@stratigraph/core/tier";
import { createWorkspace, type Workspace } from "@stratigraph/workspace";
import type { Context } from "../table/context.ts";

/** A workspace, and the storage that it lies in. */
export interface OpenWorkspace extends WorkspaceState {
  readonly saver: TierSaver;
  readonly storage: WorkspaceStorage;
  readonly items: Items;
  readonly workspace: Workspace;
}

/** Opens a workspace that may not have begun yet. @throws StratigraphError "MISCONFIGURED"; InvalidAddressError */
export async function openWorkspace(context: Context, name: string): Promise<OpenWorkspace> {
  const saver = await context.saver();
  const found = workspacesOf(saver);
  const workspace = createWorkspace(saver, name, { freeze: false });
  const { version, trimmed } = await found.storage.log(name, { prefixes: [[]], before: 0, limit: 1 });
  return { saver, ...found, workspace, version, trimmed };
}

/** As {@link openWorkspace}. @throws NotFoundError if it has no changes */
export async function existingWorkspace(context: Context, name: string): Promise<OpenWorkspace> {
  const opened = await openWorkspace(context, name);
  if (opened.version > 0) return opened;
  const message = `There is no workspace ${JSON.stringify(name)}. "stratigraph workspace list" lists workspaces.`;
  throw new NotFoundError(message, { workspace: name });
}

/** The workspaces of a storage. @throws StratigraphError "MISCONFIGURED" if it keeps none */
export function workspacesOf({ tier }: TierSaver): Pick<OpenWorkspace, "storage" | "items"> {
  if (keepsWorkspaces(tier) && keepsItems(tier)) return { storage: tier.workspaces, items: tier.items };
  throw new StratigraphError(
    "MISCONFIGURED",
    `The storage (${tier.name}) keeps no workspaces. Memory, PostgreSQL, PGlite and Redis do, and stacks with one of these as the warm tier.`,
    { tier: tier.name },
  );
}
