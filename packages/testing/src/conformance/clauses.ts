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
 * Every clause, in the order of Python's suite. Only the clauses on the order of writes follow those of putWrites. At the end are the
 * calls that LangGraph.js makes.
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
