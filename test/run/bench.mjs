import { bootstrap, runTypeScript } from "./bootstrap.mjs";

// `pnpm bench`: works in a fresh checkout, like `npm test`; needs PostgreSQL. Arguments: `pnpm bench --help`.
bootstrap();
process.exitCode = await runTypeScript("test/bench/main.ts", process.argv.slice(2));
