import type { Capability, Tool } from '@x/core';

/**
 * Shares a capability with another agent: the same hooks on the same object, without those in `hidden`, and only the tools that the
 * other agent may use.
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
      // A new array signals to the agent that its tools have changed.
      if (value !== listed) {
        listed = value as typeof listed;
        tools = listed?.filter(mayUse);
      }
      return tools;
    },
  });
}
