export type { RoleOptions } from "./access.ts";
export type { Author } from "./author.ts";
export type { Board, BoardTask, NewTask, TakenTask, WorkOptions } from "./board.ts";
export type { ItemConflict, MergedItems, MergeItemsOptions } from "./branches.ts";
export type { ChangeOptions } from "./changeOptions.ts";
export { createWorkspace, type WorkspaceOptions } from "./createWorkspace.ts";
export { set, update } from "./immutable.ts";
export { exportItems, importItems, type ExportItemsOptions, type ItemTarget } from "./itemLines.ts";
export type { HeldLock, Lock, LockOptions } from "./lock.ts";
export type { TrimOptions } from "./moments.ts";
export type { Step } from "./steps.ts";
export type { Message, SubscribeOptions, Topic } from "./topic.ts";
export type {
  ChangesOptions,
  ChangesPage,
  LogOptions,
  PastWorkspace,
  Transacted,
  Workspace,
  WorkspaceEvent,
  WorkspaceMark,
} from "./workspace.ts";
export type { PutOptions, WorkspaceItem, Written } from "./workspaceItem.ts";
