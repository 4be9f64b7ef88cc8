import { archive } from "../change/archive.ts";
import { deletes } from "../change/delete.ts";
import { fork } from "../change/fork.ts";
import { maintain } from "../change/maintain.ts";
import { merge } from "../change/merge.ts";
import { promote } from "../change/promote.ts";
import { prune } from "../change/prune.ts";
import { restore } from "../change/restore.ts";
import { setup } from "../change/setup.ts";
import { undo } from "../change/undo.ts";
import { doctor } from "../read/doctor.ts";
import { show } from "../read/show.ts";
import { threads } from "../read/threads.ts";
import { repair } from "../verify/repair.ts";
import { verify } from "../verify/verify.ts";
import type { Operation } from "./operation.ts";

/** Every operation, in the order in which they are listed. */
export const operations: readonly Operation[] = [
  threads,
  show,
  fork,
  merge,
  promote,
  undo,
  prune,
  deletes,
  doctor,
  setup,
  verify,
  repair,
  maintain,
  archive,
  restore,
];
