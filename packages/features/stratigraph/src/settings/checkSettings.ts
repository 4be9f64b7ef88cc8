import { InvalidOptionError, StratigraphError } from "@stratigraph/core";
import { shownName } from "@stratigraph/core/internal";
import type { z as Zod } from "zod";
import { checkConfig } from "../checkConfig.ts";
import type { CheckpointerConfig } from "../config.ts";
import { schemeOf } from "../urls.ts";
import { InvalidConfigError } from "./invalidConfigError.ts";
import { isPlaceholder } from "./placeholders.ts";
import type { EnvironmentConfig, StratigraphConfig } from "./stratigraphConfig.ts";

function schemaOf(z: typeof Zod) {
  const effects = z.array(z.enum(["read", "write", "destroy"]));
  const path = z
    .string()
    .regex(/^.+:.+$/, 'expected a file and what it exports, such as "./src/agent.ts:graph"');
  const checkpointer = z.unknown().superRefine((given, context) => {
    const mistake = mistakeIn(given);
    if (mistake !== undefined) context.addIssue({ code: "custom", ...mistake });
  });
  const shape = {
    checkpointer,
    graphs: z
      .record(z.string(), z.union([path, z.looseObject({ path })], 'expected "./file.ts:name"'))
      .optional(),
    allow: z
      .strictObject({ cli: effects.optional(), inspector: effects.optional(), mcp: effects.optional() })
      .optional(),
    redact: z.array(z.string().min(1, "expected a path")).optional(),
    journal: z
      .strictObject({
        keys: z.record(z.string(), z.union([z.string(), z.instanceof(Uint8Array)], "expected text or bytes")),
        activeKey: z.string(),
      })
      .refine(({ keys, activeKey }) => Object.hasOwn(keys, activeKey), {
        path: ["activeKey"],
        error: "expected the name of one of journal.keys",
      })
      .optional(),
    mcp: z
      .strictObject({
        tools: z.array(z.string()).optional(),
        tokens: z
          .array(
            z.strictObject({
              name: z.string().min(1, "expected a name"),
              token: z.string().min(1, "expected a token"),
              allow: effects.optional(),
              threads: z.array(z.string()).min(1, "expected beginnings of thread ids").optional(),
              workspaces: z.array(z.string()).optional(),
            }),
          )
          .optional(),
      })
      .optional(),
  } satisfies { readonly [Name in keyof Required<EnvironmentConfig>]: Zod.ZodType };
  const environment = z.strictObject({ ...shape, checkpointer: checkpointer.optional() });
  return z.strictObject({
    ...shape,
    environments: z.record(z.string(), environment).optional(),
  } satisfies { readonly [Name in keyof Required<StratigraphConfig>]: Zod.ZodType });
}

/** What is wrong with a checkpointer's config, as `createCheckpointer` would say it. */
function mistakeIn(given: unknown): { path: string[]; message: string } | undefined {
  if (given === undefined) return { path: [], message: "expected an object or a URL, found nothing" };
  try {
    if (typeof given !== "string") checkConfig(given as CheckpointerConfig);
    else if (!isPlaceholder(given)) schemeOf("checkpointer", given);
    return undefined;
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    const field = String(error.data["field"]);
    return { path: field === "config" || field === "checkpointer" ? [] : [field], message: error.message };
  }
}

/** The place of a mistake, as text. A URL that is used as a key isn't shown. A field of a checkpointer may itself be a path. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .flatMap((part) => String(part).split("."))
    .map(shownName)
    .join(".");
}

/** Checks the contents of a config file. Errors never show values. @throws InvalidConfigError that names every mistake */
export async function checkSettings(file: string, given: unknown): Promise<StratigraphConfig> {
  const schema = schemaOf(await importZod());
  const result = schema.safeParse(given);
  if (result.success) return given as StratigraphConfig;
  const known = Object.keys(schema.shape).join(", ");
  const issues = result.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({
          path: pathText([...issue.path, key]),
          expected: issue.path.length === 0 ? `is unknown; expected ${known}` : "is unknown",
        }))
      : [{ path: pathText(issue.path), expected: issue.message }],
  );
  throw new InvalidConfigError(file, issues);
}

/** Imports zod, which comes with LangGraph. This takes 0.2 s, so it is done only if there is a config file. */
async function importZod(): Promise<typeof Zod> {
  // If import() stands in a try of the same function, bundlers accept that the package isn't installed.
  try {
    return (await import("zod")).z;
  } catch (cause) {
    const message =
      "A config file needs the package zod, which comes with LangGraph. Install it: npm install zod";
    throw new StratigraphError("DRIVER_MISSING", message, { package: "zod" }, cause);
  }
}
