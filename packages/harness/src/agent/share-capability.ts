import type { Capability, Tool } from '@x/core';

/**
 * Makes a capability of one agent part of another: the same hooks, on the same object, less those of `hidden`, and of its tools
 * those that the other agent may use.
 */
export function share(
  capability: Capability,
  hidden: readonly PropertyKey[],
  mayUse: (tool: Tool) => boolean = () => true,
): Capability {
  let listed: readonly Tool[] | undefined;
  let tools: readonly Tool[] | undefined;
  return new Proxy(capability, {
    get(target, property) {
      if (hidden.includes(property)) return undefined;
      const value: unknown = Reflect.get(target, property, target);
      if (property !== 'tools') return typeof value === 'function' ? value.bind(target) : value;
      // Another list tells an agent that its tools have changed.
      if (value !== listed) {
        listed = value as typeof listed;
        tools = listed?.filter(mayUse);
      }
      return tools;
    },
  });
}
