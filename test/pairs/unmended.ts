import type { DeedName } from "./deeds.ts";
import type { Pair } from "./play.ts";

/** A finding that isn't mended yet. */
interface Unmended {
  /** Its number in the list of findings, or the name of its note, and what it is. */
  readonly finding: string;
  /** The pairs that aren't played meanwhile: of one of these deeds and one of those. */
  readonly these: readonly DeedName[];
  /** Undefined: any. */
  readonly those?: readonly DeedName[];
  /** A pair in which it is seen. */
  readonly seen: Pair;
  /** What is told there, where another finding is seen in the same pair. */
  readonly told?: RegExp;
}

/**
 * All findings that aren't mended. The list is exact: an entry that isn't seen any more fails the test. It is taken off when its
 * mend lands, and its pairs are played from then on.
 */
export const unmended: readonly Unmended[] = [];

/** Whether a pair isn't played, because of a finding that isn't mended. */
export function isLeftOut({ deeds: [first, second] }: Pair): boolean {
  return unmended.some(({ these, those }) => {
    const isOther = (deed: DeedName): boolean => those?.includes(deed) !== false;
    return (these.includes(first) && isOther(second)) || (these.includes(second) && isOther(first));
  });
}
