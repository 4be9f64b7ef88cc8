import { InvalidConfigError } from "./invalidConfigError.ts";

const placeholder = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** Whether text stands for an environment variable. */
export function isPlaceholder(text: string): boolean {
  return placeholder.test(text);
}

/**
 * Replaces placeholders by the values of environment variables, in plain objects and lists.
 * @throws InvalidConfigError that names every variable that isn't set
 */
export function fillPlaceholders<T>(file: string, value: T): T {
  const issues: { path: string; expected: string }[] = [];
  const filled = fill(value, [], issues);
  if (issues.length > 0) throw new InvalidConfigError(file, issues);
  return filled as T;
}

function fill(
  value: unknown,
  path: readonly string[],
  issues: { path: string; expected: string }[],
): unknown {
  if (typeof value === "string") {
    const variable = placeholder.exec(value)?.[1];
    if (variable === undefined) return value;
    const found = process.env[variable];
    if (found !== undefined && found !== "") return found;
    const expected = `the environment variable ${variable} isn't set${found === "" ? ", it is empty" : ""}`;
    issues.push({ path: path.join("."), expected });
    return value;
  }
  if (Array.isArray(value)) return value.map((item, n) => fill(item, [...path, String(n)], issues));
  // Tiers, pools and clients are instances of classes, and stay unchanged.
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, fill(item, [...path, name], issues)]),
  );
}
