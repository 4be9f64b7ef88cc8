import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { FolderSaver } from "../src/index.ts";
import { testSavers } from "./support/savers.ts";
import { sparse } from "../../../../test/rounds.ts";
import { fastFolder } from "../../../../test/servers/fastFolder.ts";

const open = async (serde?: SerializerProtocol) => {
  const path = await mkdtemp(join(fastFolder(), "stratigraph-folder-"));
  const second = async () => new FolderSaver({ path, serde });
  return { saver: await second(), second, close: () => rm(path, { recursive: true }) };
};
testSavers("FolderSaver", open, sparse, true);
