import type { AgentState, Capability, JsonObject, PermissionContext, PlanModeContext, Usage } from '@x/core';

export const INHERITANCE = 'subagent_inheritance';

/** Permissions and plan mode that a subagent's call takes over from its parent; a key of the runtime context. */
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

/** A receiver of the usage of a subagent's call, model call by model call; a key of the runtime context. */
export class UsageSink {
  readonly report: (modelId: string, usage: Usage) => void;

  constructor(report: (modelId: string, usage: Usage) => void) {
    this.report = report;
  }
}

/** Makes the context that a parent in this state hands down. */
export function inheritedFrom(state: AgentState, deny: PermissionContext['deny']): JsonObject {
  const { permissionContext, planModeContext } = state;
  // The parent's pending approvals are its own.
  const { pending: _, ...rules } = permissionContext;
  return JSON.parse(
    JSON.stringify({
      permissionContext: { ...rules, deny: [...rules.deny, ...deny] },
      planModeContext,
    }),
  ) as JsonObject;
}

/**
 * Puts the parent's permissions and plan mode in place of the subagent's, at the start of every call, and lets the parent
 * know what the subagent uses up: by itself, by what compacts for it, and by subagents of its own.
 */
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
    observe(event, { runtime, model }) {
      if (event.type === 'usage.reported') runtime.get(UsageSink)?.report(event.modelId, event.usage);
      else if (event.type === 'model.completed' && event.usage !== undefined) {
        runtime.get(UsageSink)?.report(model.id, event.usage);
      }
    },
  };
}
