export declare const packageFolders: ReadonlyMap<string, string>;
