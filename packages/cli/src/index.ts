export { exitCodes, type ExitCode } from "./exitCodes.ts";
export { main } from "./program.ts";
export type { Terminal } from "./terminal.ts";
