import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { getDefaultEnvironment, type StdioServerParameters } from '@modelcontextprotocol/sdk/client/stdio.js';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { bounded } from './bounded.js';

/**
 * Milliseconds that a server and its child processes have to exit, first after the end of input and then after SIGTERM.
 */
const GOODBYE_MS = 2_000;
const LOOK_MS = 20;
/** Maximum number of bytes that the server may leave unread. Beyond it, the next message closes the connection. */
const MAX_UNREAD = 8 * 2 ** 20;

/**
 * An MCP server that runs as a program and communicates over standard input and output. It leads its own process group,
 * so that its child processes end with it. The SDK's transport ends only the program itself.
 */
export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #server: StdioServerParameters;
  readonly #onStderr: (text: string) => void;
  #program: ChildProcessWithoutNullStreams | undefined;
  #closing: Promise<void> | undefined;

  /** @param onStderr Receives the standard error of the program. */
  constructor(server: StdioServerParameters, onStderr: (text: string) => void) {
    this.#server = server;
    this.#onStderr = onStderr;
  }

  async start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#server;
    const environment = { ...getDefaultEnvironment(), ...env };
    const program = spawn(command, args, { env: environment, cwd, detached: true });
    this.#program = program;
    const failed = (error: Error) => this.onerror?.(error);
    for (const stream of [program.stdin, program.stdout, program.stderr]) stream.on('error', failed);
    program.stderr.setEncoding('utf8').on('data', this.#onStderr);
    program.once('close', () => this.onclose?.());
    // Child processes may keep its output open.
    program.once('exit', () => void setTimeout(GOODBYE_MS, program, { ref: false }).then(this.#leave));
    await once(program, 'spawn');
    program.on('error', failed);
    void this.#receive(program.stdout);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#program ?? {};
    if (!stdin?.writable) throw new Error('Not connected');
    if (stdin.writableLength > MAX_UNREAD) {
      void this.close();
      throw new Error(`The server has left more than ${MAX_UNREAD} bytes unread.`);
    }
    await new Promise<void>((resolve) => stdin.write(serializeMessage(message), () => resolve()));
  }

  /** Ends the input, then sends SIGTERM to the process group, then SIGKILL. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const program = this.#program;
    if (program?.pid === undefined) return;
    program.stdin.end();
    for (const signal of [0, 'SIGTERM', 'SIGKILL'] as const) {
      const until = performance.now() + GOODBYE_MS;
      let isThere = signalGroup(program.pid, signal);
      while (isThere && performance.now() < until) {
        await setTimeout(LOOK_MS);
        isThere = signalGroup(program.pid, 0);
      }
      if (!isThere) break;
    }
    this.#leave(program);
  }

  #leave({ stdin, stdout, stderr }: ChildProcessWithoutNullStreams): void {
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
  }

  async #receive(output: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const piece of bounded(output, 'line')) {
        if (this.#closing) break;
        const [first = '', ...more] = decoder.decode(piece, { stream: true }).split('\n');
        rest += first;
        for (const line of more) {
          this.#handle(rest);
          rest = line;
        }
      }
    } catch (error) {
      this.onerror?.(error as Error);
      void this.close();
    }
  }

  #handle(line: string): void {
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }
}

/** Sends a signal to a process group. Returns false if the group no longer exists. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}
