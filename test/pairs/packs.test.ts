import { testPairs } from "./testPairs.ts";

testPairs("packs");
