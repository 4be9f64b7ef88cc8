import type { OutputOf } from "@stratigraph/operations";

/** Work that lost a race for the head of its thread, and was kept. */
export type Conflict = OutputOf<"conflicts">["items"][number];
