export declare function copyRepository(folder: string): void;
