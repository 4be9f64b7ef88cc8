import type { OutputOf } from "../../../src/operations/index.ts";

/** Work that lost a race for the head of its thread but was kept. */
export type Conflict = OutputOf<"conflicts">["items"][number];
