import {
  AgentState,
  type CallScope,
  type Capability,
  RuntimeContext,
  type ToolScope,
  type ToolUseBlock,
  type Usage,
} from '@x/core';
import type { ComposedAgent } from '../../agent/agent-parts.js';
import { allOf, authorize } from '../../loop/clearance.js';

export const INHERITANCE = 'subagent_inheritance';

/** The parent of a subagent's call; a key of the runtime context. */
export class Parent {
  readonly above: Parent | undefined;
  /** The states of the parent that judge, the present one first: of the others only what they deny counts. */
  readonly states: () => Promise<readonly AgentState[]>;
  /** Hears of the usage of each model call. */
  readonly used: (modelId: string, usage: Usage) => void;

  constructor({ above, states, used }: Pick<Parent, 'above' | 'states' | 'used'>) {
    this.above = above;
    this.states = states;
    this.used = used;
  }
}

/**
 * Judges every call of a subagent as if its parent made it, by all capabilities of the parent and in the parent's state of
 * that moment: the subagent's own parts can only object to more. Also tells the parent what the subagent uses up, and the
 * subagent that plan mode is on.
 */
export function inheritance({ name, capabilities }: ComposedAgent): Capability {
  /** A scope as that of the parent's own call, in each of its states that judge. */
  const inherited = async <Scope extends CallScope>(scope: Scope): Promise<readonly Scope[]> => {
    const parent = scope.runtime.get(Parent);
    const states = (await parent?.states()) ?? [];
    return states.map((state) => ({ ...scope, agentId: name, state, runtime: runtimeOf(parent, scope) }));
  };
  const judge = (call: ToolUseBlock, scope: ToolScope, above: ToolScope) => {
    const { permissionContext, planModeContext } = above.state;
    const judges = [above, scope].map(({ state: { extensions } }): Capability => {
      const all = { ...scope.state.extensions, ...above.state.extensions, ...extensions };
      const head = { ...scope.state.head(), permissionContext, planModeContext, extensions: all };
      const state = AgentState.fromParts(head, scope.state.context);
      return { name, authorize: () => authorize(capabilities, call, { ...above, state }) };
    });
    // What capabilities keep of a session counts for both: a call that either of them had may rule out another.
    return authorize(judges, call, scope);
  };
  return {
    name: INHERITANCE,
    async authorize(call, scope) {
      const [present, ...before] = await inherited(scope);
      if (present === undefined) {
        return { type: 'deny', reason: 'What the parent of this subagent may do is not known here.' };
      }
      for (const above of before) {
        const objection = await judge(call, scope, above);
        if (objection?.type === 'deny') return objection;
      }
      return judge(call, scope, present);
    },
    async unattended(scope) {
      const scopes = await inherited(scope);
      const asked = scopes.flatMap((above) => capabilities.map((each) => each.unattended?.(above)));
      return (await Promise.all(asked)).includes(true);
    },
    confine: (scope) => async (path, use) => {
      const scopes = await inherited(scope);
      const confines = scopes.flatMap((above) => capabilities.flatMap((each) => each.confine?.(above) ?? []));
      return allOf(confines)(path, use);
    },
    async remind(scope) {
      const present = (await inherited(scope))[0]?.state;
      if (present) scope.state.planModeContext = structuredClone(present.planModeContext);
      return [];
    },
    observe(event, { runtime, model }) {
      const parent = runtime.get(Parent);
      if (event.type === 'usage.reported') parent?.used(event.modelId, event.usage);
      if (event.type === 'model.completed' && event.usage) parent?.used(model.id, event.usage);
    },
  };
}

/** The runtime context of a parent's own call, in which its parent is the one above it. */
function runtimeOf(parent: Parent | undefined, { runtime }: CallScope): RuntimeContext {
  const builder = RuntimeContext.builder(runtime);
  return (parent?.above === undefined ? builder : builder.put(Parent, parent.above)).build();
}
