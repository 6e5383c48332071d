import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bundled } from '../../bundled.js';
import { ownServers, resolve } from '../../services/resolve.js';
import type { Service } from '../../services/service.js';
import { severableProxy } from './severable-proxy.js';

/** The load of tests that kill processes and servers. `CHAOS=full` selects the full load, which takes minutes. */
export const chaosLoad =
  process.env.CHAOS === 'full'
    ? { sessions: 200, turns: 20, writers: 4, kills: 12 }
    : { sessions: 12, turns: 6, writers: 3, kills: 2 };

/** One in this many requests fails or is delayed while the proxy is disturbed. */
const DISTURBED = 29;

/** A private server, and a proxy to it that can lose or delay packets. */
export interface ChaoticServer {
  readonly address: string;
  /** The address of the server through the proxy. */
  readonly proxied: string;
  /** Kills the server (SIGKILL) and starts it again. */
  crash(): Promise<void>;
  /** Makes the proxy lose and delay packets from now on, or stops this. */
  disturb(isDisturbed: boolean): void;
  stop(): Promise<void>;
}

export async function chaoticServer(service: Service): Promise<ChaoticServer> {
  const server = await resolve(service, ownServers);
  const { hostname, port } = new URL(server.address);
  const proxy = await severableProxy(hostname, Number(port));
  return {
    address: server.address,
    proxied: server.address.replace(`${hostname}:${port}`, `127.0.0.1:${proxy.port}`),
    crash: async () => server.crash?.(),
    disturb: (isDisturbed) => proxy.disturb(isDisturbed ? DISTURBED : Number.POSITIVE_INFINITY),
    stop: async () => {
      await proxy.close();
      await server.stop();
    },
  };
}

/** Returns a function that starts a test's program as a process with an IPC channel. The plan is its last argument, as JSON. */
export function writerOf(program: URL, ...values: readonly string[]): (plan: object) => ChildProcess {
  const file = bundled(fileURLToPath(program));
  return (plan) => fork(file, [...values, JSON.stringify(plan)], { execArgv: [] });
}
