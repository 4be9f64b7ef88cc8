import { testPairs } from "./testPairs.ts";

testPairs("trusted");
