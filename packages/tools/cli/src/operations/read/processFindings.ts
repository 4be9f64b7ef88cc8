import type { CheckResult } from "@stratigraph/core/tier";
import { installedPackages, isSupported, oldestNode } from "./versions.ts";

/** Findings about this process: its Node.js, and the versions of LangGraph that the project loads. */
export function processFindings(folder: string): (CheckResult & { readonly check: string })[] {
  return [{ check: "node", ...nodeFinding() }, ...packageFindings(folder)];
}

function nodeFinding(): CheckResult {
  const { node } = process.versions;
  if (node.localeCompare(oldestNode, "en", { numeric: true }) >= 0)
    return { status: "ok", found: `Node.js ${node}.` };
  return {
    status: "problem",
    found: `Node.js ${node} is older than ${oldestNode}, the oldest that is supported.`,
    advice: "nvm install --lts",
  };
}

function packageFindings(folder: string): (CheckResult & { readonly check: string })[] {
  return installedPackages(folder).map(({ name, version, oldest, others }) => {
    const check = name.replace("@langchain/", "");
    if (version === undefined)
      return {
        check,
        status: "unknown" as const,
        found: `${name} isn't found from ${folder}.`,
        advice: `Run it in the folder of the project, or: npm install ${name}`,
      };
    if (!isSupported(version, oldest))
      return {
        check,
        status: "problem" as const,
        found: `${name} ${version} isn't supported: it takes ${oldest} or later of the same major version.`,
        advice: `npm install ${name}@^${oldest}`,
      };
    if (others.length > 0)
      return {
        check,
        status: "warning" as const,
        found: `${name} is there twice: the project loads ${version}, LangGraph loads ${others.join(", ")}. Messages of one aren't messages of the other.`,
        advice: `npm dedupe; npm ls ${name}`,
      };
    return { check, status: "ok" as const, found: `${name} ${version}.` };
  });
}
