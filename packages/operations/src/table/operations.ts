import { doctor } from "../read/doctor.ts";
import { show } from "../read/show.ts";
import { threads } from "../read/threads.ts";
import { repair } from "../verify/repair.ts";
import { verify } from "../verify/verify.ts";
import type { Operation } from "./operation.ts";

/** Every operation, in the order in which they are listed. */
export const operations: readonly Operation[] = [threads, show, doctor, verify, repair];
