import { bootstrap, fail, pnpmArgs, run, runTypeScript } from "./bootstrap.mjs";

// `pnpm bench`: works in a fresh checkout, like `npm test`; needs PostgreSQL. Arguments: `pnpm bench --help`.
bootstrap();
// Some sections measure the packages as they are published. Takes a second where nothing has changed.
const built = await run("npx", pnpmArgs(["build"]), { stdio: ["ignore", "ignore", "inherit"] });
if (built !== 0) fail(`The packages can't be built: pnpm build, which says why, ended with ${built}.`);
process.exitCode = await runTypeScript("test/bench/main.ts", process.argv.slice(2));
