export { exitCodes, type ExitCode } from "./terminal/exitCodes.ts";
export { main } from "./terminal/program.ts";
export { runProcess } from "./terminal/runProcess.ts";
export type { Terminal } from "./terminal/terminal.ts";
