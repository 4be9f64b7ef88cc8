import { countText, describe, isPartGap, type Kind } from "./describe.ts";
import { visible } from "./text.ts";

export interface Token {
  readonly kind: Kind | "plain" | "key";
  readonly text: string;
}

/** A longer text without a space isn't meant for people, such as base64 or a token. In characters. */
const longestBlob = 400;

/** A list or object up to this width stays on one line, in characters. */
const oneLine = 64;

/** A value of the serde as JSON on several lines. Records are written as the values that they stand for. */
export function jsonTokens(value: unknown): Token[] {
  const tokens: Token[] = [];
  write(value, "", tokens);
  return tokens;
}

/** As {@link jsonTokens}, as text. */
export function jsonLines(value: unknown): string {
  return jsonTokens(value)
    .map(({ text }) => text)
    .join("");
}

function write(value: unknown, indent: string, tokens: Token[]): void {
  const { kind, name, text, string, parts, cutBytes } = describe(value);
  if (name !== undefined)
    tokens.push({ kind: "special", text: `${visible(name)}${parts === undefined ? "(" : " "}` });
  if (string !== undefined) {
    const isBlob = string.length > longestBlob && !/\s/.test(string.slice(0, longestBlob));
    const quoted = visible(JSON.stringify(isBlob ? string.slice(0, 80) : string));
    const size = isBlob ? ` (${countText(string.length)} characters)` : "";
    tokens.push({
      kind,
      text: cutBytes === undefined && !isBlob ? quoted : `${quoted.slice(0, -1)}…${size}`,
    });
  } else if (parts === undefined) tokens.push({ kind, text: visible(text ?? "") });
  if (name !== undefined && parts === undefined) tokens.push({ kind: "special", text: ")" });
  if (parts === undefined) return;
  const [opens, closes] = kind === "list" ? ["[", "]"] : ["{", "}"];
  const inner = `${indent}  `;
  const each = parts.map((part): Token[] => {
    if (isPartGap(part)) return [{ kind: "nothing", text: `… ${part.to - part.from} more` }];
    const own: Token[] = [];
    if (part.labelKind !== "index")
      own.push({ kind: "key", text: visible(part.label) }, { kind: "plain", text: ": " });
    write(part.value, inner, own);
    return own;
  });
  const width = each.flat().reduce((sum, token) => sum + token.text.length + 1, indent.length);
  const isFlat = width <= oneLine && !each.flat().some((token) => token.text.includes("\n"));
  tokens.push({ kind: "plain", text: opens });
  for (const [n, own] of each.entries()) {
    const before = isFlat
      ? n === 0
        ? kind === "list"
          ? ""
          : " "
        : ", "
      : `${n === 0 ? "" : ","}\n${inner}`;
    tokens.push({ kind: "plain", text: before }, ...own);
  }
  const ends = each.length === 0 ? "" : isFlat ? (kind === "list" ? "" : " ") : `\n${indent}`;
  tokens.push({ kind: "plain", text: `${ends}${closes}` });
}
