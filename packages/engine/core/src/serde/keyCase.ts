/** Converts names of LangChain constructor arguments between JSON (`snake_case`) and what the constructor takes. */
export interface KeyNames {
  toJson(key: string): string;
  fromJson(key: string): string;
}

/** How many names are remembered for each class and direction. Stored data chooses the names, so there is a limit. */
const MAX_REMEMBERED = 256;

/** Follows the rules of LangChain's `keyToJson` and `keyFromJson`. `aliases` are the exceptions, from field to JSON. */
export function keyNames(aliases: ReadonlyMap<string, string>): KeyNames {
  const inverted = new Map([...aliases].map(([field, json]) => [json, field]));
  return {
    toJson: remembered((key) => aliases.get(key) ?? snakeCase(key)),
    fromJson: remembered((key) => inverted.get(key) ?? camelCase(key)),
  };
}

function remembered(convert: (key: string) => string): (key: string) => string {
  const known = new Map<string, string>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const converted = convert(key);
    if (known.size < MAX_REMEMBERED) known.set(key, converted);
    return converted;
  };
}

function snakeCase(key: string): string {
  return key
    .replace(/([A-Z]+)([A-Z][a-z0-9]+)/g, "$1_$2")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[-_\s]+/g, "_")
    .toLowerCase();
}

function camelCase(key: string): string {
  const trimmed = key.trim();
  if (!/[-_\s]/.test(trimmed)) return trimmed;
  return trimmed
    .replace(/[-_\s]+/g, "_")
    .toLowerCase()
    .replace(/_+([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}
