import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bundled } from '../../bundled.js';
import { ownServers, resolve } from '../../services/resolve.js';
import type { Service } from '../../services/service.js';
import { severableProxy } from './severable-proxy.js';

/** How much processes write while servers and they are killed: `CHAOS=full` is the whole of it, which takes minutes. */
export const chaosLoad =
  process.env.CHAOS === 'full'
    ? { sessions: 200, turns: 20, writers: 4, kills: 12 }
    : { sessions: 12, turns: 6, writers: 3, kills: 2 };

/** Of every so many requests one goes wrong. */
const DISTURBED = 29;

/** A server of a test's own, and a way to it on which packets are lost or late. */
export interface ChaoticServer {
  readonly address: string;
  /** The same through the proxy. */
  readonly proxied: string;
  /** Kills it (SIGKILL) and starts it again. */
  crash(): Promise<void>;
  /** Lets packets be lost or late from now on, or no more. */
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

/** Starts a program of a test as a process with an IPC channel; its last argument is what it is to do. */
export function writerOf(program: URL, ...values: readonly string[]): (plan: object) => ChildProcess {
  const file = bundled(fileURLToPath(program));
  return (plan) => fork(file, [...values, JSON.stringify(plan)], { execArgv: [] });
}
