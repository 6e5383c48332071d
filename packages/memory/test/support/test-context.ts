import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AgentState,
  type CallScope,
  type Capability,
  type JsonValue,
  type Message,
  RuntimeContext,
  SessionKey,
  type SessionKeyParts,
  type ToolContext,
  textOf,
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

export async function testWorkspace(): Promise<LocalWorkspace> {
  return new LocalWorkspace(join(await temporaryDirectory(), 'workspace'));
}

/** What a tool of a session of that key is run with. */
export function toolContext(workspace: LocalWorkspace, parts: SessionKeyParts): ToolContext {
  const { tenantId, userId, sessionId } = parts;
  return {
    call: { type: 'tool_use', id: 'call', name: 'tool', input: {} },
    runtime: RuntimeContext.of({ tenantId, userId, sessionId }),
    state: AgentState.create({ tenantId, userId, sessionId }),
    workspace,
    storage: workspace,
    log: new WorkspaceSessionLog(workspace, SessionKey.of(parts)),
    signal: new AbortController().signal,
  };
}

/** What a capability's hooks see in a call of a session of that key. */
export function callScope(workspace: LocalWorkspace, parts: SessionKeyParts): CallScope {
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
  workspace: LocalWorkspace,
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
