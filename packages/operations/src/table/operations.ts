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
import { blame } from "../read/blame.ts";
import { compare } from "../read/compare.ts";
import { conflicts } from "../read/conflicts.ts";
import { diff } from "../read/diff.ts";
import { doctor } from "../read/doctor.ts";
import { history } from "../read/history.ts";
import { keys } from "../read/keys.ts";
import { show } from "../read/show.ts";
import { stats } from "../read/stats.ts";
import { threads } from "../read/threads.ts";
import { exportOperation } from "../transfer/export.ts";
import { importOperation } from "../transfer/import.ts";
import { move } from "../transfer/move.ts";
import { repair } from "../verify/repair.ts";
import { verify } from "../verify/verify.ts";
import type { Operation } from "./operation.ts";

/** Every operation, in the order in which they are listed. */
export const operations: readonly Operation[] = [
  threads,
  history,
  show,
  diff,
  blame,
  compare,
  conflicts,
  stats,
  fork,
  merge,
  promote,
  undo,
  set,
  prune,
  deletes,
  doctor,
  setup,
  verify,
  repair,
  maintain,
  archive,
  restore,
  importOperation,
  exportOperation,
  move,
  keys,
  reencrypt,
];
