import { StratigraphError } from "@stratigraph/core";
import { answerWithin } from "@stratigraph/core/internal";
import type { DiagnoseRequest, Diagnosis } from "@stratigraph/core/tier";
import type { Shard } from "./shard.ts";
import { checkIdentity } from "./shardIdentity.ts";

/** Checks that a database is the shard of its place. Finds nothing if it can't be asked: the tier's own checks report that. */
export async function diagnoseShard(
  shard: Shard,
  family: string | undefined,
  { role, timeoutMs }: Pick<DiagnoseRequest, "role" | "timeoutMs">,
): Promise<readonly Diagnosis[]> {
  const place = `shard ${shard.number + 1} of ${shard.shards}`;
  const finding = (rest: Pick<Diagnosis, "status" | "found" | "advice">): Diagnosis[] => [
    { tier: shard.tier.name, role, check: "shard", ...rest },
  ];
  try {
    const late = (): StratigraphError =>
      new StratigraphError("UNAVAILABLE", `No answer within ${timeoutMs} ms.`, { timeoutMs });
    const found = await answerWithin(timeoutMs, () => shard.identityIfSetUp(), late);
    if (found === undefined)
      return finding({
        status: "problem",
        found: `It isn't ${place} yet.`,
        advice: "Call setup() while all databases of the set can be reached.",
      });
    checkIdentity(found, shard, family);
    return finding({ status: "ok", found: `It is ${place}.` });
  } catch (error) {
    if (!StratigraphError.is(error, "MISCONFIGURED") || error.data["field"] !== "shards") return [];
    return finding({ status: "problem", found: error.message });
  }
}
