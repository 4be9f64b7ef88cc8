/** The parts of a path: `chapters[*].content` has "chapters", "[*]" and "content". Braces name several paths: `{title,meta.title}`. */
export function partsOf(path: string): string[] {
  const parts: string[] = [];
  let name = "";
  const end = (): void => {
    if (name !== "") parts.push(name);
    name = "";
  };
  for (let at = 0; at < path.length; at += 1) {
    const open = path[at]!;
    if (open === ".") end();
    else if (open !== "[" && open !== "{") name += open;
    else {
      end();
      const from = at;
      const close = open === "[" ? "]" : "}";
      for (let depth = 1; depth > 0 && (at += 1) < path.length;)
        depth += path[at] === open ? 1 : path[at] === close ? -1 : 0;
      parts.push(path.slice(from, at + 1));
    }
  }
  end();
  return parts;
}

/**
 * The texts of a value at a path, as LangGraph's InMemoryStore has them: text, numbers and booleans as text, anything else as JSON. "$" and
 * "" are the whole value. (The `getTextAtPath` that LangGraph exports is an older one, which its store doesn't use.)
 * @throws what JSON.stringify throws
 */
export function textsAt(value: unknown, [part, ...rest]: readonly string[], isWhole = true): string[] {
  if (part === undefined) return textOf(value);
  const whole = isWhole && part === "$" ? [json(value)] : [];
  // Nothing follows braces.
  const left = part.startsWith("{") ? [] : rest;
  return [...whole, ...membersOf(value, part).flatMap((member) => textsAt(member, left, false))];
}

function membersOf(value: unknown, part: string): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  const isIn = (open: string, close: string): boolean => part.startsWith(open) && part.endsWith(close);
  if (isIn("[", "]")) {
    if (!Array.isArray(value)) return [];
    if (part === "[*]") return value;
    const place = Number.parseInt(part.slice(1, -1), 10);
    return place >= -value.length && place < value.length ? [value.at(place)] : [];
  }
  if (isIn("{", "}"))
    return part
      .slice(1, -1)
      .split(",")
      .map((path) => partsOf(path.trim()))
      .filter((names) => names.length > 0)
      .map((names) => names.reduce<unknown>(memberOf, value));
  if (part === "*") return Object.values(value);
  return [memberOf(value, part)];
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function textOf(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return [String(value)];
  return typeof value === "object" && value !== null ? [json(value)] : [];
}

/** JSON as InMemoryStore writes it; bigint, which it refuses, as text. */
function json(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? String(part) : part), 2);
}
