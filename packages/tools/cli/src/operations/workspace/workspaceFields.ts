import { decodeCursor } from "@stratigraph/core/internal";
import { z } from "zod";

const time = z.iso.datetime({ offset: true });

/** Input fields that several operations on workspaces have. */
export const workspaceFields = {
  workspace: z.string().min(1).describe("The name of a workspace."),
  item: z
    .string()
    .min(1)
    .describe('An item: its namespace and key, with dots between them: plan.days, files["/notes.md"].'),
  prefix: z.string().optional().describe("Only items of namespaces that begin with these labels: plan.2026."),
};

/** A version of a workspace, or a time. */
export function moment(description: string) {
  return z.coerce
    .string()
    .refine((text) => /^\d{1,15}$/.test(text) || time.safeParse(text).success, {
      error: "write a version, or a time as in ISO 8601: 2026-03-01T12:00:00Z",
    })
    .transform((text) => (/^\d+$/.test(text) ? Number(text) : new Date(text)))
    .optional()
    .describe(description);
}

/** A version after which to begin. */
export function since(description: string) {
  return z.coerce.number().int().min(0).optional().describe(description);
}

/** The place in a log where a page ended: an entry. Cursors of older versions don't say when it was made. */
export const logPlace = z.object({ version: z.number(), atMs: z.number().optional() });

/** The place where a page ended. @throws InvalidOptionError if the cursor isn't one of this operation */
export function placeIn<T>(place: z.ZodType<T>, cursor: string | undefined): T | undefined {
  if (cursor === undefined) return undefined;
  const isPlace = (found: unknown): found is T => place.safeParse(found).success;
  return decodeCursor(cursor, isPlace, "Pass the cursor of the previous page unchanged.");
}
