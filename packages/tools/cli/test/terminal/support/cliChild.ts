// The command line as a process of its own.
import { runProcess } from "@stratigraph/cli";

await runProcess();
