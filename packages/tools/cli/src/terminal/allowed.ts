import { InvalidOptionError, StratigraphError, type LoadedConfig } from "stratigraph";
import type { Access } from "../operations/index.ts";
import type { Settings } from "./settings.ts";

/** Collects what `--allow` names, which may be repeated, and may be a list with commas. */
export function allowFlag(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(",")];
}

/**
 * What a server that others use may do: read, and what `--allow` names, if the config lets it.
 * @throws InvalidOptionError; StratigraphError "ACCESS_DENIED"
 */
export function allowedEffects(
  front: "inspector" | "mcp",
  flags: readonly string[] | undefined,
  { readOnly }: Settings,
  { allow, origin }: LoadedConfig,
): readonly Access[] {
  const asked = effectsOf(flags ?? []);
  for (const effect of asked) {
    const by =
      readOnly === true && effect !== "read"
        ? "--read-only or STRATIGRAPH_READ_ONLY is set"
        : allow[front].includes(effect)
          ? undefined
          : `allow.${front} in ${origin} lacks it`;
    if (by === undefined) continue;
    const what = front === "mcp" ? "MCP server" : "inspector";
    throw new StratigraphError("ACCESS_DENIED", `The ${what} can't be allowed to ${effect}: ${by}.`, {
      operation: front === "mcp" ? "mcp" : "inspect",
    });
  }
  return asked;
}

/** @throws InvalidOptionError */
export function effectsOf(flags: readonly string[]): Access[] {
  const asked = new Set<Access>(["read"]);
  for (const text of flags.map((each) => each.trim())) {
    if (text !== "read" && text !== "write" && text !== "destroy")
      throw new InvalidOptionError(
        "allow",
        text,
        "Write --allow write, --allow destroy, or --allow write,destroy.",
      );
    asked.add(text);
  }
  return [...asked];
}
