import type { Mutant } from "../mutant.ts";

const src = "packages/cli/src";
const test = "packages/cli/test";

export const cliFaults: readonly Mutant[] = [
  {
    id: "clf01",
    kind: "fault",
    what: "a deletion in a pipe asks nobody and goes on",
    file: `${src}/confirm.ts`,
    find: "if (!canAsk(terminal)) {",
    replace: "if (!canAsk(terminal)) return true;\n  if (false) {",
    tests: [`${test}/terminal.test.ts`],
    name: "in a pipe",
  },
  {
    id: "clf02",
    kind: "fault",
    what: "yes is the default where something is taken away",
    file: `${src}/confirm.ts`,
    find: "initialValue: false",
    replace: "initialValue: true",
    tests: [`${test}/terminal.test.ts`],
    name: "no is the default",
  },
  {
    id: "clf03",
    kind: "fault",
    what: "a machine of CI is asked, and waits for ever",
    file: `${src}/terminal.ts`,
    find: ' && (env["CI"] ?? "") === ""',
    replace: "",
    tests: [`${test}/terminal.test.ts`],
    name: "in a pipe",
  },
  {
    id: "clf04",
    kind: "fault",
    what: "a list takes only the last of its values",
    file: `${src}/flags.ts`,
    find: "[...before, text]",
    replace: "[text]",
    tests: [`${test}/cli.test.ts`],
    name: "given twice",
  },
  {
    id: "clf05",
    kind: "fault",
    what: "the storage is shown with its password",
    file: `${src}/storageText.ts`,
    find: 'return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;',
    replace: "return source;",
    tests: [`${test}/inspect.test.ts`],
    name: "the page shows",
  },
  {
    id: "clf06",
    kind: "fault",
    what: "a password with a slash in it is shown",
    file: `${src}/storageText.ts`,
    find: 'return host === "" || isTorn ? undefined : host;',
    replace: 'return host === "" ? undefined : host;',
    tests: [`${test}/inspect.test.ts`],
    name: "the page shows",
  },
];
