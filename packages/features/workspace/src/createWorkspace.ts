import { InvalidOptionError, type ItemTtlOption, type TierSaver } from "@stratigraph/core";
import { checkOptions, ttlOf, type OptionNames } from "@stratigraph/core/internal";
import { Access } from "./access.ts";
import { checkedName } from "./names.ts";
import { partsOf } from "./parts.ts";
import { Workspace } from "./workspace.ts";

/** Options of a workspace. */
export interface WorkspaceOptions {
  /** Who works through this handle, for the log: "planner". */
  readonly agent?: string | undefined;
  /** How long items stay after their last change, as in a store. Default: for ever. */
  readonly ttl?: ItemTtlOption | undefined;
  /**
   * Freezes the values that are read, so that a value which is changed in place, and would never be stored, throws an error that names the
   * field. Default: true, unless NODE_ENV is "production".
   */
  readonly freeze?: boolean | undefined;
}

const workspaceOptionNames: OptionNames<WorkspaceOptions> = { agent: true, ttl: true, freeze: true };

/**
 * Opens a workspace in a checkpointer's storage: memory that several agents share without losing a word. It begins with its first change.
 *
 * @example
 * const workspace = createWorkspace(checkpointer, "trip", { agent: "planner" });
 * await workspace.update(["plan"], "days", (plan) => ({ days: [...(plan?.days ?? []), "Rome"] }), { reason: "the user asked" });
 * @throws InvalidOptionError; InvalidAddressError
 */
export function createWorkspace(
  checkpointer: TierSaver,
  name: string,
  options: WorkspaceOptions = {},
): Workspace {
  checkOptions("createWorkspace", options, workspaceOptionNames);
  const { agent, ttl, freeze = process.env["NODE_ENV"] !== "production" } = options;
  if (
    Array.isArray(ttl) &&
    ttl.some((rule: { refreshOnRead?: unknown } | null) => rule?.refreshOnRead === true)
  )
    throw new InvalidOptionError("ttl", "refreshOnRead", "Only stores have it: reads change no workspace.");
  const parts = partsOf(checkpointer, checkedName("name", name), { ttl: ttlOf(ttl), freezes: freeze });
  return new Workspace(parts, Access.all, agent === undefined ? undefined : checkedName("agent", agent));
}
