import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fail } from "./bootstrap.mjs";
import { packageFolders } from "./packageFolders.mjs";
import { testFiles } from "./testFiles.mjs";

/**
 * Servers that tests need. `neededBy`: test folders; a server is looked for when one of them has a test file in
 * this run. `environment`: the variable that names a running one instead. Without a variable a server is only
 * asked for where the one it stands beside (`beside`) is not named either; its tests are skipped then.
 */
const SERVERS = [
  {
    name: "PostgreSQL",
    packages: ["postgresql"],
    present: () => postgresPrograms().length > 0,
    neededBy: ["postgres", "tiered", "branch", "cli", "service", "stratigraph", "testing"],
    environment: "STRATIGRAPH_TEST_POSTGRES_URL",
  },
  {
    name: "PgBouncer",
    packages: ["pgbouncer"],
    present: () => onPath("pgbouncer"),
    neededBy: ["postgres"],
    beside: "STRATIGRAPH_TEST_POSTGRES_URL",
  },
  {
    name: "Redis",
    packages: ["redis-server"],
    present: () => onPath("redis-server"),
    neededBy: ["redis", "tiered", "cli", "service"],
    environment: "STRATIGRAPH_TEST_REDIS_URL",
  },
  {
    name: "nginx",
    packages: ["nginx-light"],
    present: () => onPath("nginx"),
    neededBy: ["service"],
    beside: "STRATIGRAPH_TEST_POSTGRES_URL",
  },
  {
    name: "Prometheus",
    packages: ["prometheus"],
    present: () => onPath("prometheus") && onPath("promtool"),
    neededBy: ["service"],
    beside: "STRATIGRAPH_TEST_POSTGRES_URL",
  },
  {
    name: "S3 (Ceph RGW)",
    packages: ["radosgw", "ceph-mon", "ceph-osd", "ceph-common"],
    present: () => ["radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph", "monmaptool"].every(onPath),
    neededBy: ["s3", "tiered"],
    environment: "STRATIGRAPH_TEST_S3_ENDPOINT",
    more: " (with STRATIGRAPH_TEST_S3_ACCESS_KEY and STRATIGRAPH_TEST_S3_SECRET_KEY)",
  },
  {
    name: "Chromium",
    // Half the start and half the CPU time of the package with windows. The fonts are what the page asks for first.
    packages: ["chromium-headless-shell", "fonts-inter", "fonts-jetbrains-mono"],
    present: () => existsSync("/usr/lib/chromium/chromium-headless-shell") || onPath("chromium"),
    neededBy: ["cli"],
    environment: "STRATIGRAPH_TEST_CHROMIUM",
    more: " (the path of a Chromium or Chrome, which is no script that starts it)",
  },
];

/** Makes the servers available that the test files matching `filters` need, or ends with what is missing. */
export function ensureServers(filters) {
  // What follows an option ("-t name") is no path: as a path it would match no test file.
  const files = testFiles();
  const paths = filters.filter((part) => files.some((file) => file.includes(part)));
  const asked = files.filter((file) => paths.length === 0 || paths.some((part) => file.includes(part)));
  const missing = SERVERS.filter(
    (server) =>
      server.neededBy.some((name) =>
        asked.some((file) => file.startsWith(`${packageFolders.get(name)}/test/`)),
      ) &&
      !process.env[server.environment ?? server.beside] &&
      !server.present(),
  );
  if (missing.length === 0) return;
  if (isDebianRoot()) install(missing.flatMap((server) => server.packages));
  const still = missing.filter((server) => !server.present());
  if (still.length > 0) fail(explain(still));
}

function explain(missing) {
  const lines = missing.map(({ name, packages, environment, beside, more = "" }) => {
    const variable =
      environment === undefined ? `or set ${beside} and go without` : `or set ${environment}${more}`;
    return `  ${name}: Debian package ${packages.join(" ")}, ${variable}`;
  });
  const how = isDebianRoot()
    ? "Installing them with apt-get failed; the reason is above."
    : "As root on Debian or Ubuntu, npm test installs them by itself. Here, install them or name running ones:";
  return `The tests need servers that are not here.\n${how}\n${lines.join("\n")}`;
}

function isDebianRoot() {
  return process.getuid?.() === 0 && existsSync("/etc/debian_version") && onPath("apt-get");
}

/** Also where Debian keeps servers, which is not on everyone's path. */
function onPath(command) {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/local/sbin", "/usr/sbin", "/sbin"];
  return folders.some((folder) => folder !== "" && existsSync(join(folder, command)));
}

function postgresPrograms() {
  const folder = "/usr/lib/postgresql";
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((version) => existsSync(join(folder, version, "bin/postgres")));
}

// These tell Debian's packages to start no server: the tests start their own, on free ports and in temporary folders.
const CLUSTER = "/etc/postgresql-common/createcluster.conf";
const POLICY = "/usr/sbin/policy-rc.d";

function install(packages) {
  console.log(`Installing ${packages.join(" ")} with apt-get (once) …`);
  if (packages.includes("postgresql") && !existsSync(CLUSTER)) {
    mkdirSync("/etc/postgresql-common", { recursive: true });
    writeFileSync(CLUSTER, "# Written by Stratigraph's npm test.\ncreate_main_cluster = false\n");
  }
  const ownPolicy = !existsSync(POLICY);
  if (ownPolicy) writeFileSync(POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    aptGet("update", "-q");
    aptGet(
      ...["install", "-y", "-q", "--no-install-recommends"],
      ...["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"],
      ...packages,
    );
  } finally {
    if (ownPolicy) rmSync(POLICY);
  }
}

/** Its output is shown only where it fails; what is missing then is told by explain(). */
function aptGet(...args) {
  const result = spawnSync("apt-get", ["-o", "DPkg::Lock::Timeout=300", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", UCF_FORCE_CONFFOLD: "1" },
  });
  if (result.status !== 0)
    console.error(
      `apt-get ${args[0]} ended with ${result.status}:\n${result.stdout.slice(-3000)}${result.stderr}`,
    );
}
