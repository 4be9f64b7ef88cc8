import type { Policy } from "@stratigraph/journal";

// #region cedar
// Node needs this build, and needs it by `import()`.
const cedar = await import("@cedar-policy/cedar-wasm/nodejs");

// A policy's name is the reason that the model and the person are told. Cedar knows whole numbers only: amounts are in cents.
const staticPolicies = {
  "the desk may pay": `permit(principal == Agent::"desk", action, resource == Tool::"pay");`,
  "no payment is over 5000 EUR": `forbid(principal, action, resource == Tool::"pay")
    when { context.args.cents > 500000 };`,
  "a person allows payments over 500 EUR": `forbid(principal, action == Action::"runUnasked", resource == Tool::"pay")
    when { context.args.cents > 50000 };`,
};

function decide(action: string, { author = "", tool, args }: Parameters<Policy>[0]): true | string {
  const answer = cedar.isAuthorized({
    principal: { type: "Agent", id: author },
    action: { type: "Action", id: action },
    resource: { type: "Tool", id: tool },
    context: { args: args as { cents: number } },
    policies: { staticPolicies },
    entities: [],
  });
  if (answer.type === "failure") throw new Error(answer.errors.map(({ message }) => message).join("; "));
  const { decision, diagnostics } = answer.response;
  // Cedar skips a policy that fails, also one that forbids. So a failure has to refuse the call, and what throws refuses.
  if (diagnostics.errors.length > 0) throw new Error(diagnostics.errors[0]!.error.message);
  return decision === "allow" || diagnostics.reason.join("; ") || "no policy permits it";
}

export const cedarPolicy: Policy = (call) => {
  const may = decide("run", call);
  if (may !== true) return { deny: may };
  const unasked = decide("runUnasked", call);
  return unasked === true || { ask: unasked };
};
// #endregion
