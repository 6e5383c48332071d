import type { AgentState } from '../agent/agent-state.js';
import type { JsonObject, JsonValue } from '../lib/json.js';

type Head = Readonly<Record<string, JsonValue | undefined>>;

/**
 * A three-way merge, field by field and extension by extension: ours where we changed it since the ancestor, else what is
 * stored. Of an extension's `counters` nobody's are lost: what both have counted since the ancestor is added up.
 */
export function mergeHead(ancestor: JsonObject, ours: JsonObject, stored: JsonObject): JsonObject {
  const [before, own, theirs] = [ancestor, ours, stored].map((head) => asObject(head.extensions)) as [
    Head,
    Head,
    Head,
  ];
  const extensions = Object.entries(mergeFields(before, own, theirs)).map(([name, merged]) => {
    const counters = mergeCounters(before[name], own[name], theirs[name]);
    return [name, counters === undefined ? merged : { ...asObject(merged), counters }] as const;
  });
  return { ...mergeFields(ancestor, ours, stored), extensions: Object.fromEntries(extensions) as JsonObject };
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

/** `undefined` unless both count something. */
function mergeCounters(
  ancestor: JsonValue | undefined,
  ours: JsonValue | undefined,
  stored: JsonValue | undefined,
): JsonObject | undefined {
  const [before, own, theirs] = [ancestor, ours, stored].map((extension) => asObject(extension).counters);
  if (!isObject(own) || !isObject(theirs)) return undefined;
  const merged: Record<string, JsonValue> = { ...theirs };
  for (const [name, count] of Object.entries(own)) {
    const other = theirs[name];
    const base = asObject(before)[name];
    const isCounted = typeof count === 'number' && typeof other === 'number';
    merged[name] = isCounted ? other + count - (typeof base === 'number' ? base : 0) : count;
  }
  return merged;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asObject(value: JsonValue | undefined): Head {
  return isObject(value) ? value : {};
}
