import { testPairs } from "./testPairs.ts";

testPairs("stacks");
