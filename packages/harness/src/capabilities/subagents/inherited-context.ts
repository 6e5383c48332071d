import type { AgentState, Capability, JsonObject, PermissionContext, PlanModeContext } from '@x/core';

export const INHERITANCE = 'subagent_inheritance';

/** What a call to a subagent takes over from its parent; a key of the runtime context. */
export class InheritedContext {
  readonly permissionContext: PermissionContext;
  readonly planModeContext: PlanModeContext;

  constructor(inherited: JsonObject) {
    // Written by `inheritedFrom`, perhaps in another process.
    const { permissionContext, planModeContext } = inherited as unknown as InheritedContext;
    this.permissionContext = permissionContext;
    this.planModeContext = planModeContext;
  }
}

/** What a parent in this state hands down. */
export function inheritedFrom(state: AgentState, deny: PermissionContext['deny']): JsonObject {
  const { permissionContext, planModeContext } = state;
  // What the parent waits for is its own.
  const { pending: _, ...rules } = permissionContext;
  return JSON.parse(
    JSON.stringify({
      permissionContext: { ...rules, deny: [...rules.deny, ...deny] },
      planModeContext,
    }),
  ) as JsonObject;
}

/** Puts the parent's permissions and plan mode in place of the subagent's, at the start of every call. */
export function inheritance(): Capability {
  return {
    name: INHERITANCE,
    async aroundCall({ runtime, state }, next) {
      const inherited = runtime.get(InheritedContext);
      if (inherited !== undefined) {
        const { pending } = state.permissionContext;
        state.permissionContext = {
          ...structuredClone(inherited.permissionContext),
          ...(pending === undefined ? {} : { pending }),
        };
        state.planModeContext = structuredClone(inherited.planModeContext);
      }
      await next();
    },
  };
}
