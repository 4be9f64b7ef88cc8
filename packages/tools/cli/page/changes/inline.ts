type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** JSON of the serde, or plain JSON of a diff, on one line. Messages, and what is cut or redacted, are written in short. */
export function inline(value: unknown, most = 240): string {
  const text = textOf(value);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function textOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `[${value.map(textOf).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const known = recordText(value);
  if (known !== undefined) return known;
  const parts = Object.entries(value).map(([key, part]) => `${key}: ${textOf(part)}`);
  return `{${parts.join(", ")}}`;
}

function recordText(value: JsonObject): string | undefined {
  if (value["lc"] === 2 && value["type"] === "sg:cut")
    return typeof value["begins"] === "string" ? `${JSON.stringify(value["begins"]).slice(0, -1)}…` : "…";
  if (value["lc"] === 2 && value["type"] === "sg:redacted") return "(redacted)";
  const message = messageOf(value);
  if (message === undefined) return undefined;
  return `${message.role}: ${message.text}`;
}

/** The speaker and text of a message, as the serde or a diff writes it. */
export function messageOf(value: unknown): { readonly role: string; readonly text: string } | undefined {
  if (!isObject(value)) return undefined;
  const id: unknown = Array.isArray(value["id"]) ? value["id"].at(-1) : undefined;
  const isRecord = value["lc"] === 1 && typeof id === "string" && /Message(Chunk)?$/.test(id);
  const isPlain = typeof value["type"] === "string" && isObject(value["data"]) && "content" in value["data"];
  if (!isRecord && !isPlain) return undefined;
  const fields = (isRecord ? value["kwargs"] : value["data"]) as JsonObject;
  const role = isRecord
    ? String(id)
        .replace(/Message(Chunk)?$/, "")
        .toLowerCase()
    : String(value["type"]);
  const calls = Array.isArray(fields["tool_calls"]) ? fields["tool_calls"] : [];
  const called = calls.map((call: unknown) => `calls ${String((call as JsonObject | null)?.["name"])}`);
  const { content } = fields;
  const said = typeof content === "string" ? content : content === undefined ? "" : JSON.stringify(content);
  return { role, text: [said, ...called].filter((text) => text !== "").join(" ") };
}
