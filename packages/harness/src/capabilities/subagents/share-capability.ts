import type { Capability } from '@x/core';

/** What a shared capability does not do again: its owner installs and closes it, and hands its tools down one by one. */
const WITHHELD: ReadonlySet<PropertyKey> = new Set<keyof Capability>(['tools', 'install', 'close']);

/** A capability of one agent as part of another: the same hooks, on the same object. */
export function shareCapability(capability: Capability): Capability {
  return new Proxy(capability, {
    get(target, property) {
      if (WITHHELD.has(property)) return undefined;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
