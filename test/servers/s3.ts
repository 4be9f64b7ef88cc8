import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, onFreePort, run, ServerFolder, ServerProcess } from "./process.ts";

export interface S3Server {
  endpoint: string;
  accessKey: string;
  secretKey: string;
  region: string;
  /** The process id of the gateway, which speaks S3. */
  pid: number;
  /** Stops the gateway with SIGSTOP: it keeps its connections and answers nothing. */
  pause(): void;
  resume(): void;
  /** Sends SIGKILL to the gateway. The objects stay. */
  kill(): Promise<void>;
  /** Starts the gateway again after `kill`, on the same port with the same objects. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const ACCESS_KEY = "test";
const SECRET_KEY = "testsecret";

/**
 * Starts a real S3 server: Ceph's gateway over one monitor and one in-memory storage daemon (about 2 s).
 * Needs Debian's `radosgw ceph-mon ceph-osd ceph-common`.
 */
export async function startS3(): Promise<S3Server> {
  return onFreePort(async (port) => {
    const folder = new ServerFolder("ceph");
    const ports = { gateway: port, monitor: await freePort(), first: await freePort() };
    const servers: ServerProcess[] = [];
    const stop = async () => {
      // End the gateway first: without its storage it would wait.
      for (const server of servers.toReversed()) await server.end("SIGKILL");
      folder.remove();
    };
    try {
      return await startCeph(folder, ports, servers, stop);
    } catch (error) {
      await stop();
      throw error;
    }
  });
}

async function startCeph(
  folder: ServerFolder,
  ports: Ports,
  servers: ServerProcess[],
  stop: () => Promise<void>,
): Promise<S3Server> {
  const { dir } = folder;
  const conf = join(dir, "ceph.conf");
  const fsid = randomUUID();
  for (const name of ["mon", "osd", "rgw", "log", "run"]) mkdirSync(join(dir, name));
  writeFileSync(conf, configuration(dir, fsid, ports));
  const env = { CEPH_CONF: conf };
  const ceph = (command: string, ...args: string[]) => run(command, args, { env, cwd: dir });
  const daemon = (name: string, command: string, ...args: string[]) => {
    const server = new ServerProcess(folder, name, command, ["-f", "-c", conf, ...args], { env });
    servers.push(server);
    return server;
  };

  const monmap = join(dir, "monmap");
  const keyring = join(dir, "keyring");
  const address = `[v2:127.0.0.1:${ports.monitor}]`;
  await ceph("monmaptool", "--create", "--fsid", fsid, "--addv", "a", address, monmap);
  writeFileSync(keyring, await newKeys(ceph));
  await ceph("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring, "-c", conf);
  const monitor = daemon("monitor", "ceph-mon", "-i", "a");
  const osd = randomUUID();
  // The command itself waits for the monitor to answer.
  await Promise.race([ceph("ceph", "-c", conf, "osd", "new", osd), failed(monitor)]);
  await ceph("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd, "-c", conf);
  const storage = daemon("storage", "ceph-osd", "-i", "0");
  const user = ["user", "create", "--uid=test", "--display-name=test"];
  const keys = [`--access-key=${ACCESS_KEY}`, `--secret-key=${SECRET_KEY}`];
  await Promise.race([ceph("radosgw-admin", "-c", conf, ...user, ...keys), failed(storage)]);

  const endpoint = `http://127.0.0.1:${ports.gateway}`;
  let gateway: ServerProcess;
  const start = async () => {
    gateway = daemon("gateway", "radosgw", "-n", "client.rgw.a");
    await gateway.up(() => fetch(endpoint).then((answer) => answer.status === 200), 60_000);
  };
  await start();
  return {
    endpoint,
    accessKey: ACCESS_KEY,
    secretKey: SECRET_KEY,
    region: "us-east-1",
    get pid() {
      return gateway.pid;
    },
    pause: () => gateway.signal("SIGSTOP"),
    resume: () => gateway.signal("SIGCONT"),
    kill: () => gateway.end("SIGKILL"),
    start,
    stop,
  };
}

/** Rejects when the daemon ends; never resolves. */
async function failed(server: ServerProcess): Promise<never> {
  await server.exited;
  throw new Error(`${server.name} ended while starting:\n${server.logTail()}`);
}

/** One keyring for all: the monitor's own key, the administrator's, the storage daemon's and the gateway's. */
async function newKeys(ceph: (command: string, ...args: string[]) => Promise<string>): Promise<string> {
  const entities: Record<string, Record<string, string>> = {
    "mon.": { mon: "allow *" },
    "client.admin": { mon: "allow *", osd: "allow *", mgr: "allow *" },
    "osd.0": { mon: "allow profile osd", osd: "allow *", mgr: "allow profile osd" },
    "client.rgw.a": { mon: "allow rw", osd: "allow rwx" },
  };
  const sections = Object.entries(entities).map(async ([entity, caps]) => {
    const key = (await ceph("ceph-authtool", "--gen-print-key")).trim();
    const lines = Object.entries(caps).map(([name, value]) => `\tcaps ${name} = "${value}"\n`);
    return `[${entity}]\n\tkey = ${key}\n${lines.join("")}`;
  });
  return (await Promise.all(sections)).join("");
}

interface Ports {
  gateway: number;
  monitor: number;
  first: number;
}

/**
 * The configuration: one daemon of each kind, storage in memory, and no health warnings and waits that only matter in real
 * clusters.
 */
function configuration(dir: string, fsid: string, ports: Ports): string {
  return `[global]
fsid = ${fsid}
mon host = v2:127.0.0.1:${ports.monitor}
public addr = 127.0.0.1
public network = 127.0.0.0/8
ms bind ipv6 = false
ms bind port min = ${ports.first}
ms bind port max = ${ports.first + 500}
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
keyring = ${dir}/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 2
osd pool default pgp num = 2
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
paxos propose interval = 0.02
paxos min wait = 0.01
mon osdmap full prune enabled = false
mon allow pool size one = true
mon max pg per osd = 1000
mon warn on pool no redundancy = false
run dir = ${dir}/run
admin socket = ${dir}/run/$cluster-$name.asok
pid file = ${dir}/run/$name.pid
log file = ${dir}/log/$name.log
mon cluster log file = ${dir}/log/cluster.log
crash dir = ${dir}/log
[mon]
mon data = ${dir}/mon
mon initial members = a
[mon.a]
mon addr = v2:127.0.0.1:${ports.monitor}
[osd]
osd data = ${dir}/osd
osd objectstore = memstore
memstore device bytes = 4294967296
osd class load list = *
osd class default list = *
osd op num threads per shard = 1
[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:${ports.gateway} tcp_nodelay=1
rgw data = ${dir}/rgw
rgw dns name = localhost
rgw thread pool size = 32
rgw enable usage log = false
rgw gc obj min wait = 1
rgw enable lc threads = true
rgw lifecycle work time = 00:00-23:59
rgw lc debug interval = 10
rgw run sync thread = false
rgw crypt require ssl = false
`;
}
