import type { Policy } from "@stratigraph/journal";

// #region opa
/** Asks an OPA server for the rule `decision` of the package `desk`. @param url such as http://localhost:8181 */
export function opaPolicy(url: string): Policy {
  return async (call) => {
    const response = await fetch(new URL("/v1/data/desk/decision", url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input: call }),
      signal: AbortSignal.timeout(2000),
    });
    if (!response.ok) throw new Error(`OPA answered ${response.status}`);
    // OPA leaves `result` out where no such rule is loaded.
    const { result } = (await response.json()) as { result?: Record<string, unknown> };
    if (result?.["allow"] === true) return true;
    const { deny, ask } = result ?? {};
    if (deny === undefined && typeof ask === "string") return { ask };
    return { deny: typeof deny === "string" ? deny : "OPA has no decision" };
  };
}
// #endregion
