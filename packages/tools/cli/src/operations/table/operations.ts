import { archive } from "../change/archive.ts";
import { deletes } from "../change/delete.ts";
import { fork } from "../change/fork.ts";
import { maintain } from "../change/maintain.ts";
import { merge } from "../change/merge.ts";
import { promote } from "../change/promote.ts";
import { prune } from "../change/prune.ts";
import { reencrypt } from "../change/reencrypt.ts";
import { restore } from "../change/restore.ts";
import { set } from "../change/set.ts";
import { setup } from "../change/setup.ts";
import { undo } from "../change/undo.ts";
import { answer } from "../journal/answer.ts";
import { audit } from "../journal/audit.ts";
import { calls } from "../journal/calls.ts";
import { questions } from "../journal/questions.ts";
import { trail } from "../journal/trail.ts";
import { why } from "../journal/why.ts";
import { blame } from "../read/blame.ts";
import { compare } from "../read/compare.ts";
import { conflicts } from "../read/conflicts.ts";
import { diff } from "../read/diff.ts";
import { doctor } from "../read/doctor.ts";
import { glance } from "../read/glance.ts";
import { health } from "../read/health.ts";
import { history } from "../read/history.ts";
import { inbox } from "../read/inbox.ts";
import { keys } from "../read/keys.ts";
import { show } from "../read/show.ts";
import { stats } from "../read/stats.ts";
import { subagents } from "../read/subagents.ts";
import { threads } from "../read/threads.ts";
import { writes } from "../read/writes.ts";
import { run } from "../run/run.ts";
import { exportOperation } from "../transfer/export.ts";
import { importOperation } from "../transfer/import.ts";
import { move } from "../transfer/move.ts";
import { repair } from "../verify/repair.ts";
import { verify } from "../verify/verify.ts";
import { workspaceDiff } from "../workspace/diff.ts";
import { workspaceExport } from "../workspace/export.ts";
import { workspaceImport } from "../workspace/import.ts";
import { workspaceItems } from "../workspace/items.ts";
import { workspaceList } from "../workspace/list.ts";
import { workspaceLocks } from "../workspace/locks.ts";
import { workspaceLog } from "../workspace/log.ts";
import { workspacePrompts } from "../workspace/prompts.ts";
import { workspaceShow } from "../workspace/show.ts";
import { workspaceWatch } from "../workspace/watch.ts";
import type { z } from "zod";
import type { Operation } from "./operation.ts";

const all = [
  threads,
  inbox,
  glance,
  history,
  show,
  subagents,
  writes,
  diff,
  blame,
  compare,
  conflicts,
  stats,
  calls,
  questions,
  why,
  audit,
  workspaceList,
  workspaceItems,
  workspaceShow,
  workspaceLog,
  workspaceDiff,
  workspaceWatch,
  workspaceLocks,
  workspacePrompts,
  fork,
  merge,
  promote,
  undo,
  set,
  run,
  answer,
  prune,
  deletes,
  doctor,
  health,
  setup,
  verify,
  repair,
  maintain,
  archive,
  restore,
  importOperation,
  exportOperation,
  workspaceImport,
  workspaceExport,
  move,
  trail,
  keys,
  reencrypt,
] as const;

type Known = (typeof all)[number];

/** Every operation, in the order in which they are listed. */
export const operations: readonly Operation[] = all;

/** The name of an operation. */
export type OperationName = Known["name"];

/** What an operation takes, as a front gets it. */
export type InputOf<N extends OperationName> = z.input<Extract<Known, { name: N }>["input"]>;

/** What an operation returns: JSON. */
export type OutputOf<N extends OperationName> = z.output<Extract<Known, { name: N }>["output"]>;
