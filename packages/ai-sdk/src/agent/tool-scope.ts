import {
  type AgentEventBody,
  AgentState,
  CapabilityError,
  RuntimeContext,
  type RuntimeIdentity,
  type ToolScope,
  type Workspace,
} from '@x/core';

const AGENT = 'ai-sdk';

/** What a capability is told of a tool call in an agent of the AI SDK, which has no model, log or store of ours. */
export function toolScope(
  workspace: Workspace,
  identity: RuntimeIdentity,
  emit: (event: AgentEventBody) => void,
): ToolScope {
  const { tenantId, userId, sessionId = 'default' } = identity;
  const absent = (what: string) => {
    throw new CapabilityError(what, `A tool of the AI SDK runs without a ${what} of its own.`);
  };
  return {
    agentId: AGENT,
    callId: AGENT,
    tool: undefined,
    workspace,
    storage: workspace,
    emit,
    runtime: RuntimeContext.of({ tenantId, userId, sessionId }),
    state: AgentState.create({ tenantId, userId, sessionId }),
    signal: new AbortController().signal,
    model: { id: AGENT, generate: async () => absent('model') },
    log: {
      location: '',
      append: async () => absent('log'),
      read: () => absent('log'),
      get: async () => absent('log'),
    },
    checkpoint: async () => {},
    background: () => absent('background queue'),
  };
}
