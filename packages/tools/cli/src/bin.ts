#!/usr/bin/env node
import { runProcess } from "./terminal/runProcess.ts";

await runProcess();
