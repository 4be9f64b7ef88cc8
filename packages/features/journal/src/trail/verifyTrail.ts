import { StratigraphError } from "@stratigraph/core";
import { checkOptions } from "@stratigraph/core/internal";
import { Sealing, type SignOptions } from "../log/sealing.ts";
import { checkHead } from "./checkArguments.ts";
import { hashOfHeader, type TrailHead, type TrailHeader } from "./line.ts";
import type { TrailSource } from "./lines.ts";
import { RecordedTrail } from "./recordedTrail.ts";
import { TrailCheck, type KnownHead, type Verification } from "./trailCheck.ts";

/** Options of {@link verifyTrail}. */
export interface VerifyTrailOptions {
  /** A head of the journal that was kept elsewhere. Without it, nobody can detect missing last entries, or a forgery of all entries. */
  readonly head?: TrailHead | undefined;
  /** The keys that the journal signs with. */
  readonly sign?: SignOptions | undefined;
}

/**
 * Verifies an exported trail; needs no storage. Damage is returned, not thrown. A file that ends within its last line counts as damaged,
 * too, but everything before that line can still be read.
 * @throws InvalidOptionError; errors of reading the source
 */
export async function verifyTrail(
  source: TrailSource,
  options: VerifyTrailOptions = {},
): Promise<Verification> {
  checkOptions<VerifyTrailOptions>("verifyTrail", options, { head: true, sign: true });
  checkHead(options.head);
  const sealing = new Sealing(options.sign);
  const trail = new RecordedTrail(source);
  let check: TrailCheck | undefined;
  try {
    const header = await trail.header();
    check = new TrailCheck(sealing, [
      ...keptElsewhere(options.head),
      { ...header.head, keptIn: "the file's first line" },
    ]);
    for await (const line of trail) check.add(line);
    checkEnd(check, header, trail.torn);
    checkHeader(check, header, sealing);
    return check.end();
  } catch (error) {
    if (!StratigraphError.is(error, "JOURNAL_BROKEN")) throw error;
    check ??= new TrailCheck(sealing, []);
    check.damaged(error.data["seq"] as number, error.message);
    return check.damage!;
  }
}

/** A given head, in the form of a head that a trail must agree with. */
export function keptElsewhere(head: TrailHead | undefined): KnownHead[] {
  return head === undefined
    ? []
    : [{ seq: head.seq, hash: head.hash, keptIn: "the head that was kept elsewhere" }];
}

function checkEnd(check: TrailCheck, { head }: TrailHeader, torn: number | undefined): void {
  const { nextSeq } = check;
  if (torn !== undefined)
    check.damaged(nextSeq, `the file ends within line ${torn}: entry ${nextSeq} isn't whole`);
  else if (nextSeq - 1 > head.seq)
    check.damaged(
      head.seq + 1,
      `the file's first line names entry ${head.seq} as the last one, and more follow`,
    );
}

function checkHeader(check: TrailCheck, header: TrailHeader, sealing: Sealing): void {
  const isSignedIfNeeded = sealing.activeKey === undefined || header.keyId !== undefined;
  try {
    if (isSignedIfNeeded && hashOfHeader(sealing, header) === header.hash) return;
    check.damaged(0, "the file's first line isn't as it was made");
  } catch (error) {
    check.damaged(0, `the file's first line can't be checked: ${(error as Error).message}`);
  }
}
