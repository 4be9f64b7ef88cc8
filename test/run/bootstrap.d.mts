export declare function pnpmArgs(args: readonly string[]): string[];
