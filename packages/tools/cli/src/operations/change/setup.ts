import { isSetUpByScript, layersOf } from "@stratigraph/core/internal";
import { z } from "zod";
import { shown } from "../render/columns.ts";
import { flag } from "../table/fields.ts";
import { operation } from "../table/operation.ts";

/** Creates what storages need. */
export const setup = operation({
  name: "setup",
  group: "storage",
  effect: "write",
  summary: "Create or update what the storages need, such as tables. Safe to repeat.",
  examples: [
    "stratigraph setup",
    "stratigraph setup --dry-run > setup.sql",
    "stratigraph setup --existing-schema",
  ],
  input: z.object({
    dryRun: flag("Only print the SQL that would be run."),
    existingSchema: flag("The schema exists already, and this user may not create one."),
  }),
  output: z.object({
    dryRun: z.boolean(),
    items: z.array(
      z.object({
        tier: z.string(),
        role: z.enum(["hot", "warm", "cold"]),
        script: z.string().optional().describe("In a dry run: the SQL, where the storage is set up by SQL."),
      }),
    ),
  }),
  async run({ dryRun, existingSchema }, context) {
    const saver = await context.saver();
    const parts = layersOf(saver.tier);
    const createSchema = !existingSchema;
    if (!dryRun && createSchema) await saver.setup();
    else if (!dryRun)
      for (const { tier } of parts)
        await (isSetUpByScript(tier) ? tier.setup({ createSchema }) : tier.setup?.());
    const items = parts.map(({ role, tier }) => ({
      tier: tier.name,
      role,
      ...(dryRun && isSetUpByScript(tier) ? { script: tier.setupScript({ createSchema }) } : {}),
    }));
    return { dryRun, items };
  },
  *render({ dryRun, items }) {
    for (const { tier, role, script } of items) {
      if (!dryRun) yield `${shown(tier)} (${role}) is set up.`;
      else if (script === undefined) yield `-- ${shown(tier)} (${role}): nothing is created by SQL.`;
      else yield* [`-- ${shown(tier)} (${role})`, ...script.split("\n").map(shown)];
    }
  },
});
