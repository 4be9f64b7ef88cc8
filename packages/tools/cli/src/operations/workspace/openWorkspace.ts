import { NotFoundError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { isLost, keepsItems, keepsWorkspaces, type LogPlace } from "@stratigraph/core/internal";
import type { Items, LogPage, WorkspaceState, WorkspaceStorage } from "@stratigraph/core/tier";
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

/** @throws StratigraphError "VERSION_GONE" if a page that was read after a place can't tell all that came after it */
export function refuseGone(workspace: string, place: LogPlace, page: LogPage): void {
  const { trimmed, version } = page;
  const since = place.version;
  const lost = isLost(place, page);
  if (since >= trimmed && !lost) return;
  const why =
    since < trimmed
      ? `was trimmed up to ${trimmed}`
      : since > version
        ? `ends with version ${version}`
        : "has another entry there, or none: the workspace was deleted and begun anew, or its storage was set back";
  const message = `The log of workspace ${JSON.stringify(workspace)} ${why}, so nobody can tell what came after version ${since}.`;
  throw new StratigraphError("VERSION_GONE", message, { workspace, since, trimmed, version, restored: lost });
}
