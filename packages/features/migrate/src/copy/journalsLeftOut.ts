import type { Tier } from "@stratigraph/core";
import { reservedNamespaces } from "@stratigraph/core/tier";
import type { Difference } from "./report.ts";

/**
 * The differences of a selected thread whose calls are in journals of threads that aren't selected.
 * @param target where these may be already; undefined if that can't be looked up
 */
export async function journalsLeftOut(
  {
    threadId,
    journals = [],
  }: { readonly threadId: string; readonly journals?: readonly string[] | undefined },
  threadIds: readonly string[] | undefined,
  target?: Tier,
): Promise<Difference[]> {
  const differences: Difference[] = [];
  for (const journal of threadIds === undefined ? [] : journals) {
    if (threadIds?.includes(journal) === true) continue;
    const there = await target?.peek({ threadId: journal, namespace: reservedNamespaces.calls });
    if (there?.head !== undefined) continue;
    const what = `its calls are in the journal of ${JSON.stringify(journal)}, which isn't selected: without that thread they would be made again`;
    differences.push({ threadId, what });
  }
  return differences;
}
