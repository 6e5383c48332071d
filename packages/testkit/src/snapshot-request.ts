import type { ModelRequest } from '@x/core';

const frozen = new WeakSet<object>();

/**
 * Returns a frozen copy of a request. Lists are copied. Messages and tool definitions, immutable by contract, are frozen in place: this is
 * cheap in long runs, and code that mutates one after sending it fails in its test.
 */
export function snapshotRequest(request: ModelRequest): ModelRequest {
  return Object.freeze({
    ...request,
    messages: Object.freeze(request.messages.map(freezeDeep)),
    tools: Object.freeze(request.tools.map(freezeDeep)),
  });
}

function freezeDeep<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || frozen.has(value)) return value;
  const prototype = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
  frozen.add(value);
  for (const child of Object.values(value)) freezeDeep(child);
  return Object.freeze(value);
}
