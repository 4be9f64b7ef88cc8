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
  const quoted = schema.replaceAll('"', '""');
  // A dollar sign would end the dollar quotes that function bodies stand in.
  if (quoted.includes("$")) return `U&"${quoted.replaceAll("\\", "\\\\").replaceAll("$", "\\0024")}"`;
  return `"${quoted}"`;
}
