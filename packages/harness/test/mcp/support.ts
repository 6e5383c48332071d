import { type ChildProcess, spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  AgentState,
  type Capability,
  type JsonObject,
  type Model,
  RuntimeContext,
  SessionKey,
  type Tool,
  type ToolContext,
} from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { onTestFinished } from 'vitest';
import { claimPort } from '../../../../tooling/services/claim-port.js';
import { HarnessAgent, permissions } from '../../src/index.js';
import { type McpConfig, mcp } from '../../src/mcp/index.js';
import type { McpOptions } from '../../src/mcp/mcp.js';
import { scratch } from '../support.js';

const program = join(import.meta.dirname, '../children/mcp-server.mjs');

/** How to start the test server, as a configuration says it. */
export const stdioServer = { command: process.execPath, args: [program] };

/** Connects, and closes when the test has ended. */
export async function connect(
  servers: McpConfig['servers'],
  more: Omit<McpConfig, 'servers'> = {},
  options: McpOptions = {},
) {
  const capability = await mcp({ servers, ...more }, options);
  onTestFinished(() => capability.close?.());
  return capability;
}

/** Builds an agent that uses tools without approval. */
export function agentWith(model: Model, capability: Capability): HarnessAgent {
  return HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .use(permissions({ mode: 'bypass' }), capability)
    .build();
}

/** For a server that comes back: nobody else takes it while none listens there. */
export async function lastingPort(): Promise<number> {
  const { port, directory } = await claimPort();
  onTestFinished(() => rm(directory, { recursive: true, maxRetries: 20 }));
  return port;
}

/** The test server over HTTP, on a port that the system gives out or a given one. */
export async function startHttpServer(environment: Record<string, string> = {}, port = 0) {
  const child = spawn(process.execPath, [program, String(port)], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await firstLine(child);
  return { url: `http://127.0.0.1:${line}/mcp`, stop: () => stop(child) };
}

function firstLine(child: ChildProcess): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
    if (child.stdout) createInterface(child.stdout).once('line', (line) => resolve([line]));
  });
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

export function toolOf({ tools = [] }: Capability, name: string): Tool {
  const tool = tools.find(({ definition }) => definition.name === name);
  if (tool === undefined)
    throw new Error(`no ${name} among ${tools.map(({ definition }) => definition.name).join()}`);
  return tool;
}

/** Runs a tool as the harness does. */
export function run(
  tool: Tool,
  input: JsonObject,
  signal: AbortSignal = new AbortController().signal,
  onUpdate?: ToolContext['onUpdate'],
) {
  const workspace = new LocalWorkspace(scratch());
  const context: ToolContext = {
    call: { type: 'tool_use', id: 'c', name: tool.definition.name, input },
    idempotencyKey: 'key',
    runtime: RuntimeContext.empty(),
    state: AgentState.create({ sessionId: 's' }),
    workspace,
    storage: workspace,
    log: new WorkspaceSessionLog(workspace, SessionKey.of('s')),
    signal,
    onUpdate,
  };
  return tool.run(input, context);
}
