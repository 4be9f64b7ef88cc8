import { signal } from "@preact/signals";

/** A checkpoint that was marked to be compared with another one. */
export interface Marked {
  readonly thread: string;
  readonly checkpoint: string;
}

/** The checkpoint that `d` marked. */
export const marked = signal<Marked | undefined>(undefined);

/** The address of a checkpoint, as operations take it. */
export function addressOf({ thread, checkpoint }: Marked): string {
  return `${thread}@${checkpoint}`;
}
