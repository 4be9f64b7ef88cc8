import { StratigraphError, type Tier } from "@stratigraph/core";
import { archivesThreads } from "@stratigraph/core/internal";
import type { ThreadArchiver } from "@stratigraph/core/tier";

/** Returns the tier, typed as one with an archive. @throws StratigraphError "MISCONFIGURED" if it has none */
export function archiverOf(tier: Tier): ThreadArchiver {
  if (archivesThreads(tier)) return tier;
  throw new StratigraphError(
    "MISCONFIGURED",
    `The storage (${tier.name}) has no archive. Name a cold tier beside the warm one: ` +
      'createCheckpointer({ warm: "postgresql://…", cold: "s3://…" }).',
    { tier: tier.name },
  );
}
