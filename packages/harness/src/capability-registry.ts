import type { Capability } from '@x/core';
import { HarnessConfigError } from './errors/harness-config-error.js';

/** A capability by name, with its configuration where it takes one: what a configuration file holds. */
export type CapabilityReference = string | { readonly ref: string; readonly config?: unknown };

/** Makes a capability from its configuration, which the factory validates. */
export type CapabilityFactory = (config: unknown) => Capability;

/** Resolves capabilities by name, so that an agent can be configured without code. */
export class CapabilityRegistry {
  readonly #factories = new Map<string, CapabilityFactory>();

  /** Makes a capability known under a name, replacing what had it. */
  register(name: string, factory: CapabilityFactory): this {
    this.#factories.set(name, factory);
    return this;
  }

  /**
   * @throws {HarnessConfigError} when the name is unknown or the factory refuses the configuration; `path` tells where
   * the reference stands.
   */
  resolve(reference: CapabilityReference, path = 'capabilities'): Capability {
    const { ref, config } = typeof reference === 'string' ? { ref: reference, config: undefined } : reference;
    const factory = this.#factories.get(ref);
    if (factory === undefined) {
      const known = [...this.#factories.keys()].sort().join(', ') || 'none';
      throw new HarnessConfigError([
        {
          path,
          message: `there is no capability named "${ref}" (known: ${known}); register it or correct the name`,
        },
      ]);
    }
    try {
      return factory(config);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new HarnessConfigError([{ path: `${path}.${ref}`, message }], { cause: error });
    }
  }
}
