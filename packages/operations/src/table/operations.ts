import { threads } from "../read/threads.ts";
import { exportOperation } from "../transfer/export.ts";
import { importOperation } from "../transfer/import.ts";
import { move } from "../transfer/move.ts";
import type { Operation } from "./operation.ts";

/** Every operation, in the order in which they are listed. */
export const operations: readonly Operation[] = [threads, exportOperation, importOperation, move];
