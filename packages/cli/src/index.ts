export { exitCodes, type ExitCode } from "./exitCodes.ts";
export { main } from "./program.ts";
export { runProcess } from "./runProcess.ts";
export type { Terminal } from "./terminal.ts";
