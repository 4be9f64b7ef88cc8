import type { Mutant } from "../mutant.ts";

const src = "packages/features/stratigraph/src";
const test = "packages/features/stratigraph/test";

export const stratigraphFaults: readonly Mutant[] = [
  {
    id: "stf01",
    kind: "fault",
    what: "an option in a URL that nobody knows is ignored",
    file: "packages/engine/core/src/contract/urlOptions.ts",
    find: "else throw unknownParameter(name, { field, query, own: Object.keys(names), drivers: driver });",
    replace: "",
    tests: [`${test}/urls.test.ts`],
  },
  {
    id: "stf02",
    kind: "fault",
    what: "an option that stands twice in a URL counts as the last",
    file: "packages/engine/core/src/contract/urlOptions.ts",
    find: "if (Object.hasOwn(options, name))\n",
    replace: "if (false)\n",
    tests: [`${test}/urls.test.ts`, `${test}/wrongCalls.test.ts`],
  },
  {
    id: "stf03",
    kind: "fault",
    what: "our options go on to the driver",
    file: "packages/engine/core/src/contract/urlOptions.ts",
    find: "} else if (driver.has(name)) passed.push([name, value]);",
    replace: '} else if (driver.has(name)) passed.push([name, ""]);',
    tests: [`${test}/urls.test.ts`],
  },
  {
    id: "stf04",
    kind: "fault",
    what: "an error shows a URL with its password",
    file: `${src}/urls.ts`,
    find: "`${found}:…`;",
    replace: "url;",
    tests: [`${test}/settings.test.ts`, `${test}/urls.test.ts`],
  },
  {
    id: "stf05",
    kind: "fault",
    what: "Prisma's schema=public puts our tables among the application's",
    file: `${src}/urls.ts`,
    find: 'if (found.options.schema === "public") {',
    replace: 'if (found.options.schema === "") {',
    tests: [`${test}/urls.test.ts`, `${test}/wrongCalls.test.ts`],
  },
  {
    id: "stf06",
    kind: "fault",
    what: "a config with two owners takes one of them",
    file: `${src}/checkConfig.ts`,
    find: "if (another !== undefined) {",
    replace: "if (false) {",
    tests: [`${test}/wrongCalls.test.ts`],
  },
  {
    id: "stf07",
    kind: "fault",
    what: "an empty environment variable counts as a value",
    file: `${src}/settings/placeholders.ts`,
    find: 'if (found !== undefined && found !== "") return found;',
    replace: "if (found !== undefined) return found;",
    tests: [`${test}/settings.test.ts`],
  },
  {
    id: "stf08",
    kind: "fault",
    what: "a URL with one slash asks the driver's own default host",
    file: "packages/features/stratigraph/src/urls.ts",
    find: "if (isServer && !",
    replace: "if (!isServer && !isServer && isServer && !",
    tests: ["packages/features/stratigraph/test/wrongCalls.test.ts"],
  },
];
