import { signal } from "@preact/signals";

/** A checkpoint that is marked for a comparison with another one. */
export interface Marked {
  readonly thread: string;
  readonly checkpoint: string;
}

/** The checkpoint that was marked with the key `d`. */
export const marked = signal<Marked | undefined>(undefined);

/** The address of a checkpoint, as operations accept it. */
export function addressOf({ thread, checkpoint }: Marked): string {
  return `${thread}@${checkpoint}`;
}
