import type { AgentState } from './agent-state.js';
import type { JsonObject, JsonValue } from './json.js';

type Head = Readonly<Record<string, JsonValue | undefined>>;

/**
 * A three-way merge, field by field and extension by extension: ours where we changed it since the ancestor, else what is
 * stored.
 */
export function mergeHead(ancestor: JsonObject, ours: JsonObject, stored: JsonObject): JsonObject {
  return {
    ...mergeFields(ancestor, ours, stored),
    extensions: mergeFields(
      asObject(ancestor.extensions),
      asObject(ours.extensions),
      asObject(stored.extensions),
    ),
  };
}

/** Makes `state` what `merged` is, but for its context: others hold on to the object itself. */
export function adoptHead(state: AgentState, merged: AgentState): void {
  state.activeCall = merged.activeCall;
  state.permissionContext = merged.permissionContext;
  state.planModeContext = merged.planModeContext;
  state.tasksContext = merged.tasksContext;
  state.toolContext = merged.toolContext;
  for (const name of Object.keys(state.extensions)) {
    if (!Object.hasOwn(merged.extensions, name)) delete state.extensions[name];
  }
  Object.assign(state.extensions, merged.extensions);
}

function mergeFields(ancestor: Head, ours: Head, stored: Head): JsonObject {
  const names = new Set([...Object.keys(stored), ...Object.keys(ours)]);
  const fields = [...names].map((name): readonly [string, JsonValue | undefined] => {
    const changed = JSON.stringify(ours[name]) !== JSON.stringify(ancestor[name]);
    return [name, changed ? ours[name] : stored[name]];
  });
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as JsonObject;
}

function asObject(value: JsonValue | undefined): Head {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Head) : {};
}
