#!/usr/bin/env node
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The commands are a package of their own, so that applications don't install them. It is looked for in the project first: its
// version is the one to run.
const places = [join(process.cwd(), "package.json"), import.meta.filename];

function find(): string | undefined {
  for (const place of places) {
    try {
      return createRequire(place).resolve("@stratigraph/cli");
    } catch {
      // Not installed there.
    }
  }
  return undefined;
}

const found = find();
if (found === undefined) {
  process.stderr.write(
    "The commands of Stratigraph are a package of their own: npm install --save-dev @stratigraph/cli\n",
  );
  process.exitCode = 1;
} else {
  const { runProcess } = (await import(pathToFileURL(found).href)) as { runProcess(): Promise<void> };
  await runProcess();
}
