import { InvalidOptionError } from "@stratigraph/core";
import { checkOptions } from "@stratigraph/core/internal";
import { kindOfValue } from "./checkSaver.ts";
import type { Diff } from "./diff.ts";

const signs = { added: "+", removed: "-", changed: "~" } as const;

/**
 * Formats a diff as text: one line for each change, under the name of its channel.
 * @param options `width`: the longest value that is shown, in characters; default 72
 * @throws InvalidOptionError
 */
export function formatDiff(diff: Pick<Diff, "channels">, options: { width?: number } = {}): string {
  if (!Array.isArray((Object(diff) as { channels?: unknown }).channels))
    throw new InvalidOptionError("diff", kindOfValue(diff), "Pass what diff() returned: await it.");
  checkOptions<{ width?: number }>("formatDiff", options, { width: true });
  const { width = 72 } = options;
  if (!Number.isFinite(width) || width < 1)
    throw new InvalidOptionError("width", kindOfValue(width), "Use a number of characters, 1 or more.");
  const { channels } = diff;
  if (channels.length === 0) return "no difference";
  const lines: string[] = [];
  for (const { name, kind, changes } of channels) {
    lines.push(`${signs[kind]} ${name}`);
    for (const { kind, path, before, after } of changes) {
      const values =
        kind === "changed"
          ? `${shown(before, width)} → ${shown(after, width)}`
          : shown(kind === "added" ? after : before, width);
      lines.push(`    ${signs[kind]} ${path === "" ? "" : `${path}  `}${values}`);
    }
  }
  return lines.join("\n");
}

/** A value on one line. A message is shown as its type and text. */
function shown(value: unknown, width: number): string {
  const text = messageText(value) ?? JSON.stringify(value) ?? "nothing";
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

function messageText(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !("data" in value) || !("type" in value))
    return undefined;
  const { type, data } = value as { type: unknown; data: { content?: unknown; tool_calls?: unknown } };
  if (typeof type !== "string" || typeof data !== "object" || data === null) return undefined;
  const calls = Array.isArray(data.tool_calls)
    ? (data.tool_calls as { name?: unknown }[]).map(({ name }) => ` [calls ${String(name)}]`).join("")
    : "";
  const content = typeof data.content === "string" ? data.content : JSON.stringify(data.content);
  return `${type}: ${content}${calls}`;
}
