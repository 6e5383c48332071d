import {
  type AgentEventBody,
  AgentState,
  type Message,
  type Model,
  type ReasonScope,
  RuntimeContext,
  type SessionLog,
  type ToolScope,
  type Workspace,
} from '@x/core';
import { modelOf } from './models.js';

/** A session log in memory. */
export function memoryLog(): SessionLog & { readonly messages: Message[] } {
  const messages: Message[] = [];
  return {
    location: 'sessions/s1.log.jsonl',
    messages,
    async append(added) {
      const known = new Set(messages.map((message) => message.id));
      for (const message of added) if (!known.has(message.id)) messages.push(message);
    },
    async *read(from) {
      const start = messages.findIndex(({ id }) => id === from);
      yield* messages.slice(Math.max(0, start));
    },
    get: async (id) => messages.find((message) => message.id === id),
  };
}

export interface TestScope extends ReasonScope {
  readonly events: AgentEventBody[];
  readonly log: ReturnType<typeof memoryLog>;
  checkpoints: number;
}

/** What a harness passes to hooks, around a new state with these messages. */
export function scopeOf(messages: readonly Message[], overrides: Partial<ReasonScope> = {}): TestScope {
  const state = AgentState.create({ sessionId: 's1' });
  for (const message of messages) state.contextMutable().push(message);
  const events: AgentEventBody[] = [];
  const scope: TestScope = {
    agentId: 'coder',
    callId: 'call-1',
    model: silentModel(),
    runtime: RuntimeContext.empty(),
    state,
    workspace: {} as Workspace,
    storage: {} as Workspace,
    log: memoryLog(),
    signal: new AbortController().signal,
    step: 1,
    system: 'You fix bugs.',
    tools: [],
    reminders: [],
    events,
    checkpoints: 0,
    emit: (event) => void events.push(event),
    async checkpoint() {
      scope.checkpoints++;
    },
    background: () => {},
    ...overrides,
  } as TestScope;
  return scope;
}

export function toolScopeOf(workspace: Workspace, overrides: Partial<ToolScope> = {}): ToolScope & TestScope {
  return { ...scopeOf([]), workspace, storage: workspace, tool: undefined, ...overrides } as ToolScope &
    TestScope;
}

/** An agent's model whose answers do not matter, with a known window. */
function silentModel(): Model {
  return modelOf(() => 'unused', { id: 'acme:large' });
}
