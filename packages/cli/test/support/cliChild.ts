// The command line as a process of its own.
import "../../src/bin.ts";
