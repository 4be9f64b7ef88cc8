import type { Mutant } from "../mutant.ts";

const src = "packages/inspector/src";
const guards = ["packages/inspector/test/guards.test.ts"];
const page = ["packages/inspector/test/page.test.ts"];
const api = ["packages/inspector/test/api.test.ts"];

export const inspectorFaults: readonly Mutant[] = [
  {
    id: "inf01",
    kind: "fault",
    what: "any token opens the inspector",
    file: `${src}/guards/token.ts`,
    find: "given !== null && timingSafeEqual(digest(given), digest(token))",
    replace: "given !== null",
    tests: guards,
  },
  {
    id: "inf02",
    kind: "fault",
    what: "a page of another site can have its own name resolve to the inspector (DNS rebinding)",
    file: `${src}/guards/guard.ts`,
    find: "if (!isHost(host, hosts)) throw refused(`The request is for a host that this inspector doesn't serve.`);",
    replace: "",
    tests: guards,
  },
  {
    id: "inf03",
    kind: "fault",
    what: "a page of another origin can send requests",
    file: `${src}/guards/guard.ts`,
    find: "if (origin !== null && !isOwnOrigin(origin, host))",
    replace: "if (origin === null && !isOwnOrigin(host, host))",
    tests: guards,
  },
  {
    id: "inf04",
    kind: "fault",
    what: "any name is a host of the inspector where it serves IP addresses",
    file: `${src}/guards/hosts.ts`,
    find: 'other === "*" ? isIP(bare) !== 0 :',
    replace: 'other === "*" ? true :',
    tests: guards,
  },
  {
    id: "inf05",
    kind: "fault",
    what: "the page may stand in a frame of another site",
    file: `${src}/guards/guard.ts`,
    find: "  \"frame-ancestors 'none'\",\n",
    replace: "",
    tests: [...guards, ...page],
  },
  {
    id: "inf06",
    kind: "fault",
    what: "forms of other sites are taken for JSON",
    file: `${src}/api/input.ts`,
    find: "if (!/^application\\/json\\s*(?:;|$)/i.test(type))",
    replace: "if (!/^(application|text)\\//i.test(type))",
    tests: [...guards, ...api],
  },
  {
    id: "inf07",
    kind: "fault",
    what: "texts of a graph's errors repeat what is redacted",
    file: `${src}/api/errors.ts`,
    find: 'hidesTexts ? "Something failed. What it said may repeat what is redacted." : message',
    replace: "message",
    tests: api,
  },
  {
    id: "inf08",
    kind: "fault",
    what: "a value of bytes is downloaded although its channel is redacted",
    file: `${src}/api/value.ts`,
    find: "if (!isJson && redaction.hides(channel)) {",
    replace: "if (false) {",
    tests: api,
  },
  {
    id: "inf09",
    kind: "fault",
    what: "a client that reads slowly makes the server's memory grow",
    file: `${src}/api/eventStream.ts`,
    find: "if ((this.#controller.desiredSize ?? 0) <= 0) {",
    replace: "if (false) {",
    tests: ["packages/inspector/test/eventStream.test.ts"],
  },
  {
    id: "inf10",
    kind: "fault",
    what: "a path of a request reads files beside the page's folder",
    file: `${src}/page/answerPage.ts`,
    find: "const fileForm = /^\\/(assets\\/)?([\\w-][\\w.-]*\\.(\\w+))$/;",
    replace: "const fileForm = /^\\/(assets\\/)?(.*\\.(\\w+))$/;",
    tests: page,
  },
];
