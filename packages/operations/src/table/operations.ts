import { archive } from "../change/archive.ts";
import { deletes } from "../change/delete.ts";
import { fork } from "../change/fork.ts";
import { maintain } from "../change/maintain.ts";
import { merge } from "../change/merge.ts";
import { promote } from "../change/promote.ts";
import { prune } from "../change/prune.ts";
import { reencrypt } from "../change/reencrypt.ts";
import { restore } from "../change/restore.ts";
import { setup } from "../change/setup.ts";
import { undo } from "../change/undo.ts";
import { doctor } from "../read/doctor.ts";
import { keys } from "../read/keys.ts";
import { threads } from "../read/threads.ts";
import type { Operation } from "./operation.ts";

/** Every operation, in the order in which they are listed. */
export const operations: readonly Operation[] = [
  threads,
  doctor,
  keys,
  // Changing
  archive,
  deletes,
  fork,
  maintain,
  merge,
  promote,
  prune,
  reencrypt,
  restore,
  setup,
  undo,
];
