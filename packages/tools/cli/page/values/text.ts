/** Characters that are about two columns wide in a fixed-width font: those of East Asian scripts, and emoji. */
function widthOf(code: number): number {
  return (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    code >= 0x1f300
    ? 2
    : 1;
}

/** Control characters that would be invisible, or change the direction of what follows. */
const unseen =
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Writes invisible characters as escapes, so that different texts don't look the same. */
export function visible(text: string): string {
  return text.replaceAll(
    unseen,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Breaks a text into lines with a limit of columns, between words if possible. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const line of visible(text).replaceAll("\r\n", "\n").split("\n")) wrapLine(line, columns, lines);
  return lines;
}

function wrapLine(line: string, columns: number, lines: string[]): void {
  // Most lines are short, and each character of plain text is one column.
  if (line.length * 2 <= columns) {
    lines.push(line);
    return;
  }
  let [start, used, space] = [0, 0, -1];
  for (let at = 0; at < line.length; at += 1) {
    const code = line.codePointAt(at)!;
    const width = code === 9 ? 8 : widthOf(code);
    if (used + width > columns && at > start) {
      const end = space > start ? space : at;
      lines.push(line.slice(start, end));
      start = end;
      used = 0;
      for (let n = start; n < at; n += 1) used += widthOf(line.charCodeAt(n));
      space = -1;
    }
    used += width;
    if (code > 0xffff) at += 1;
    if (code === 32) space = at + 1;
  }
  lines.push(line.slice(start));
}

/** A piece of a text: prose, or a block of code between fences. */
export interface TextPiece {
  readonly kind: "prose" | "code";
  readonly text: string;
  /** The text after the opening fence. */
  readonly language?: string;
}

/** Splits a text at its fenced blocks of code. A block that isn't closed continues to the end of the text. */
export function textPieces(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  let prose: string[] = [];
  let code: { readonly fence: string; readonly language: string; readonly lines: string[] } | undefined;
  const endProse = (): void => {
    const joined = prose.join("\n").replace(/^\n+|\n+$/g, "");
    if (joined !== "") pieces.push({ kind: "prose", text: joined });
    prose = [];
  };
  const endCode = (): void => {
    if (code !== undefined)
      pieces.push({ kind: "code", text: code.lines.join("\n"), language: code.language });
    code = undefined;
  };
  for (const line of text.split("\n")) {
    const [, fence, rest] = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line) ?? [];
    if (code !== undefined) {
      if (fence !== undefined && rest === "" && fence.startsWith(code.fence)) endCode();
      else code.lines.push(line);
    } else if (fence === undefined) prose.push(line);
    else {
      endProse();
      code = { fence, language: rest!.trim(), lines: [] };
    }
  }
  endProse();
  endCode();
  return pieces;
}

/** Parses a text that is the JSON of a list or an object; undefined for other texts. */
export function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text) || text.length > 200_000) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
