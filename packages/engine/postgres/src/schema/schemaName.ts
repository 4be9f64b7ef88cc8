import { InvalidOptionError } from "@stratigraph/core";

/** Longest identifier of PostgreSQL, in bytes. */
const longest = 63;

/** A schema name, quoted for SQL. @throws InvalidOptionError */
export function quotedSchema(schema: string): string {
  if (
    typeof schema !== "string" ||
    schema === "" ||
    schema.includes("\0") ||
    Buffer.byteLength(schema) > longest
  ) {
    throw new InvalidOptionError(
      "schema",
      schema,
      `Use a name of 1 to ${longest} bytes, for example "stratigraph".`,
    );
  }
  return quoted(schema, '"');
}

/** A schema name as a text for SQL. */
export function schemaText(schema: string): string {
  return quoted(schema, "'");
}

function quoted(text: string, mark: string): string {
  const inside = text.replaceAll(mark, mark + mark);
  // A dollar sign would end the dollar quotes that function bodies stand in.
  if (!inside.includes("$")) return `${mark}${inside}${mark}`;
  return `U&${mark}${inside.replaceAll("\\", "\\\\").replaceAll("$", "\\0024")}${mark}`;
}
