import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions } from "@stratigraph/core/internal";
import type { NamedTool } from "../identity/fingerprint.ts";
import { ownPrefix } from "../log/ownCalls.ts";
import type { CallOptions, FormerName, ToolOptions } from "../options.ts";

type Former = Pick<Exclude<ToolOptions, string>, "formerly">;

export function optionsOf(options: ToolOptions | undefined): CallOptions & Former {
  return typeof options === "string" ? { effects: options } : (options ?? {});
}

/**
 * Checks whether somebody said what a repetition of a tool would do.
 * @param annotations what the MCP server of the tool says about it
 * @throws InvalidOptionError
 */
export function checkDeclared(where: string, options: ToolOptions | undefined, annotations: unknown): void {
  if (optionsOf(options).effects !== undefined) return;
  const proposal = proposedEffects(annotations);
  throw new InvalidOptionError(
    where,
    options,
    'Say what a repetition of it would do: "none" for reads, "idempotent" where it takes an idempotency key, "once" for what must not happen twice.' +
      (proposal === undefined
        ? ""
        : ` Its MCP server proposes ${proposal}. Nothing proves that: write it down if you agree.`),
  );
}

/** The effects that a tool's MCP annotations propose, and which of them do; undefined if they say nothing. */
function proposedEffects(annotations: unknown): string | undefined {
  const { readOnlyHint, idempotentHint, destructiveHint } = Object(annotations) as Record<string, unknown>;
  if (readOnlyHint === true) return '"none" (readOnlyHint: true)';
  if (idempotentHint === true) return '"idempotent" (idempotentHint: true)';
  const hints = Object.entries({ readOnlyHint, idempotentHint, destructiveHint });
  const given = hints.filter(([, hint]) => typeof hint === "boolean");
  if (given.length === 0) return undefined;
  return `"once" (${given.map(([name, hint]) => `${name}: ${String(hint)}`).join(", ")})`;
}

/** @throws InvalidOptionError */
export function checkToolName(field: string, name: unknown): void {
  if (typeof name !== "string" || name === "")
    throw new InvalidOptionError(field, name, "Name what is called.");
  if (name.startsWith(ownPrefix))
    throw new InvalidOptionError(field, name, `Names that begin with ${ownPrefix} are the journal's own.`);
}

/** What a tool was called before, the oldest last. @throws InvalidOptionError */
export function formerTools(tool: string, { formerly = [], version }: CallOptions & Former): NamedTool[] {
  const all: unknown[] = Array.isArray(formerly) ? formerly : [formerly];
  const field = `tools.${tool}.formerly`;
  return all.map((given) => {
    if (typeof given !== "object") {
      checkToolName(field, given);
      return { tool: given as string, version: given === tool ? null : (version ?? null) };
    }
    checkOptions<Exclude<FormerName, string>>(field, given as Exclude<FormerName, string>, {
      name: true,
      version: true,
    });
    const { name, version: before } = Object(given) as { name?: unknown; version?: unknown };
    checkToolName(`${field}.name`, name);
    checkVersion(field, before);
    return { tool: name as string, version: (before as string | undefined) ?? null };
  });
}

/** @throws InvalidOptionError */
function checkVersion(where: string, version: unknown): void {
  if (version !== undefined && typeof version !== "string")
    throw new InvalidOptionError(`${where}.version`, version, "Pass text.");
}

/** @throws InvalidOptionError */
export function checkCallOptions(where: string, options: CallOptions): void {
  checkOptions<CallOptions>(where, options, {
    effects: true,
    version: true,
    certain: true,
    reconcile: true,
    compensate: true,
  });
  const { effects, version, ...functions } = Object(options) as CallOptions;
  if (effects !== undefined && effects !== "none" && effects !== "idempotent" && effects !== "once")
    throw new InvalidOptionError(`${where}.effects`, effects, 'Use "none", "idempotent" or "once".');
  checkVersion(where, version);
  for (const [name, given] of Object.entries(functions))
    if (given !== undefined && typeof given !== "function")
      throw new InvalidOptionError(`${where}.${name}`, given, "Pass a function.");
}
