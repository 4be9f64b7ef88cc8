/** How a process names itself if others must find out whether it still runs, such as in a lock. */
export interface ProcessName {
  readonly pid: number;
  /**
   * When it started, in the kernel's clock ticks since boot. Distinguishes it from a later process with the same id. "" if the system
   * doesn't say.
   */
  readonly startedAt: string;
  /** Machine, boot and process namespace. A container has a namespace of its own, even if another one has the same host name. */
  readonly machine: string;
}

/** Node's modules, without an import: core is bundled for places that have no files. */
const files = () => process.getBuiltinModule("node:fs");

let known: string | undefined;

/** The machine of this process; see {@link ProcessName}. */
function thisMachine(): string {
  if (known !== undefined) return known;
  const parts = [process.getBuiltinModule("node:os").hostname()];
  for (const read of [
    () => files().readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    () => files().readlinkSync("/proc/self/ns/pid"),
  ]) {
    try {
      parts.push(read());
    } catch {
      // Only Linux has these; elsewhere processes of one host see each other.
    }
  }
  return (known = parts.join(" "));
}

function startOf(pid: number): string {
  try {
    const fields = files().readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    return fields[19] ?? "";
  } catch {
    return "";
  }
}

/** The name of this process. */
export function thisProcess(): ProcessName {
  return { pid: process.pid, startedAt: startOf(process.pid), machine: thisMachine() };
}

/**
 * Whether a process still runs. "elsewhere": it is on another machine or in another container, or ran before this machine was restarted;
 * its id says nothing here.
 * @param name what it wrote about itself. Versions that didn't know machines left `machine` out: then it is taken to be on this machine
 */
export function livenessOf(
  name: Pick<ProcessName, "pid"> & Partial<ProcessName>,
): "alive" | "dead" | "elsewhere" {
  if (name.machine !== undefined && name.machine !== thisMachine()) return "elsewhere";
  try {
    process.kill(name.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "alive" : "dead";
  }
  const started = startOf(name.pid);
  const isSame = !name.startedAt || started === "" || started === name.startedAt;
  return isSame ? "alive" : "dead";
}
