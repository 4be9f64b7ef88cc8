export declare function testFiles(): string[];
export declare function reachedBy(file: string): ReadonlySet<string>;
export declare function importsIn(text: string): string[];
export declare const LEFT_OUT: readonly string[];
export declare function isQuick(file: string): boolean;
