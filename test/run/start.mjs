import { bootstrap, runTypeScript } from "./bootstrap.mjs";

// `npm start`: an agent that is killed and goes on where it was, on the embedded database.
bootstrap({ quiet: true });
process.exitCode = await runTypeScript("examples/crash-and-resume/main.ts", process.argv.slice(2));
