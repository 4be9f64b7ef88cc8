import { PostgresSaver } from "@stratigraph/postgres";
import { race } from "../../../../../test/race/racer.ts";
import { threeNodes } from "./threeNodes.ts";

const [url, name, durability] = process.argv.slice(2) as [string, string, "sync" | "async" | "exit"];
race({ name, durability, saver: PostgresSaver.fromConnString(url), compile: (saver) => threeNodes(saver) });
