// For this package's siblings, which are released with it. Not versioned: anything may change in a patch.
export { FolderStore } from "./folderStore.ts";
