import { set } from "../change/set.ts";
import { blame } from "../read/blame.ts";
import { compare } from "../read/compare.ts";
import { conflicts } from "../read/conflicts.ts";
import { diff } from "../read/diff.ts";
import { history } from "../read/history.ts";
import { show } from "../read/show.ts";
import { stats } from "../read/stats.ts";
import { threads } from "../read/threads.ts";
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
  set,
];
