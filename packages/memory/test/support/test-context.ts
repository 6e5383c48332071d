import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  AgentState,
  type CallScope,
  type Capability,
  type JsonValue,
  type Message,
  RuntimeContext,
  SessionKey,
  type SessionKeyParts,
  storageOf,
  type ToolContext,
  textOf,
  type Workspace,
} from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { onTestFinished } from 'vitest';

/** A directory that is gone after the test. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'x-memory-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 20 }));
  return directory;
}

/** What an agent keeps for itself in a workspace, and the directory where it lies. */
export type TestWorkspace = Workspace & { readonly root: string };

/** The storage of a workspace that is gone after the test. */
export async function testWorkspace(): Promise<TestWorkspace> {
  return storageIn(join(await temporaryDirectory(), 'workspace'));
}

/** The storage of the workspace in a directory, as another process opens it. */
export function storageIn(directory: string, options: { readonly readOnly?: boolean } = {}): TestWorkspace {
  return Object.assign(storageOf(new LocalWorkspace(directory, options)), { root: join(directory, '.x') });
}

/** The same storage as who may change nothing there opens it. */
export function readOnly({ root }: TestWorkspace): TestWorkspace {
  return storageIn(dirname(root), { readOnly: true });
}

/** What a tool of a session of that key is run with. */
export function toolContext(workspace: TestWorkspace, parts: SessionKeyParts): ToolContext {
  const { tenantId, userId, sessionId } = parts;
  return {
    call: { type: 'tool_use', id: 'call', name: 'tool', input: {} },
    idempotencyKey: 'key',
    runtime: RuntimeContext.of({ tenantId, userId, sessionId }),
    state: AgentState.create({ tenantId, userId, sessionId }),
    workspace,
    storage: workspace,
    log: new WorkspaceSessionLog(workspace, SessionKey.of(parts)),
    signal: new AbortController().signal,
  };
}

/** What a capability's hooks see in a call of a session of that key. */
export function callScope(workspace: TestWorkspace, parts: SessionKeyParts): CallScope {
  return {
    ...toolContext(workspace, parts),
    agentId: parts.agentId ?? 'agent',
    callId: 'call',
    model: new ScriptedModel([]),
    emit: () => {},
    checkpoint: async () => {},
    background: () => {},
  };
}

/** Writes a session's log as the harness does. */
export async function logSession(
  workspace: TestWorkspace,
  parts: SessionKeyParts,
  messages: readonly Message[],
): Promise<void> {
  await new WorkspaceSessionLog(workspace, SessionKey.of(parts)).append(messages);
}

/** Runs a capability's tool and answers the text that the model would read. */
export async function runTool(
  capability: Capability,
  name: string,
  input: JsonValue,
  context: ToolContext,
): Promise<string> {
  const tool = capability.tools?.find(({ definition }) => definition.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}.`);
  return textOf(await tool.run(input, context));
}

/** Where MEMORY.md is kept as it was before the last change. */
export const previousOf = (prefix: string): string => `${prefix}memory/.previous.md`;
