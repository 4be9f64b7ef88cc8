import { callClauses } from "./callClauses.ts";
import type { Clause } from "./clause.ts";
import { copyThreadClauses } from "./copyThreadClauses.ts";
import { deleteForRunsClauses } from "./deleteForRunsClauses.ts";
import { deleteThreadClauses } from "./deleteThreadClauses.ts";
import { deltaHistoryClauses } from "./deltaHistoryClauses.ts";
import { deltaKeepsetClauses } from "./deltaKeepsetClauses.ts";
import { deltaReconstructionClauses } from "./deltaReconstructionClauses.ts";
import { getTupleClauses } from "./getTupleClauses.ts";
import { listClauses } from "./listClauses.ts";
import { pruneClauses } from "./pruneClauses.ts";
import { putClauses } from "./putClauses.ts";
import { putWritesClauses } from "./putWritesClauses.ts";
import { writeOwnershipClauses } from "./writeOwnershipClauses.ts";
import { writesOrderClauses } from "./writesOrderClauses.ts";

/**
 * Every clause, in the order of Python's suite. The only exception: the clauses on the order of writes come after those of
 * putWrites. The calls that LangGraph.js makes are at the end.
 */
export const clauses: readonly Clause[] = [
  ...putClauses,
  ...putWritesClauses,
  ...writesOrderClauses,
  ...getTupleClauses,
  ...listClauses,
  ...deleteThreadClauses,
  ...deleteForRunsClauses,
  ...copyThreadClauses,
  ...pruneClauses,
  ...deltaHistoryClauses,
  ...deltaKeepsetClauses,
  ...deltaReconstructionClauses,
  ...writeOwnershipClauses,
  ...callClauses,
];
