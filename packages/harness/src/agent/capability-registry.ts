import { type Capability, errorText, InvalidInputError } from '@x/core';
import { HarnessConfigError } from '../errors/harness-config-error.js';

/** A capability by name, with its configuration where it takes one: what a configuration file holds. */
export type CapabilityReference = string | { readonly ref: string; readonly config?: unknown };

/** Makes a capability from its configuration, which the factory validates; perhaps after connecting to something. */
export type CapabilityFactory = (config: unknown) => Capability | Promise<Capability>;

/** Resolves capabilities by name, so that an agent can be configured without code. */
export class CapabilityRegistry {
  readonly #factories = new Map<string, CapabilityFactory>();

  /** Makes a capability known under a name, replacing what had it. */
  register(name: string, factory: CapabilityFactory): this {
    this.#factories.set(name, factory);
    return this;
  }

  /** The names that are known, sorted. */
  get names(): readonly string[] {
    return [...this.#factories.keys()].sort();
  }

  /**
   * @throws {HarnessConfigError} when the name is unknown, the factory refuses the configuration, or needs to be waited
   * for (see {@link CapabilityRegistry.load}); `path` tells where the reference stands.
   */
  resolve(reference: CapabilityReference, path = 'capabilities'): Capability {
    const { ref, make } = this.#find(reference, path);
    const made = makeNow(make, `${path}.${ref}`);
    if (!(made instanceof Promise)) return made;
    made.catch(() => {});
    throw new HarnessConfigError([
      { path: `${path}.${ref}`, message: 'takes time to make; make it first with `await registry.load(…)`' },
    ]);
  }

  /**
   * Like {@link CapabilityRegistry.resolve}, for capabilities that connect to something first.
   *
   * @throws {HarnessConfigError} when the name is unknown or the factory fails.
   */
  async load(reference: CapabilityReference, path = 'capabilities'): Promise<Capability> {
    const { ref, make } = this.#find(reference, path);
    try {
      return await make();
    } catch (error) {
      throw refused(error, `${path}.${ref}`);
    }
  }

  #find(
    reference: CapabilityReference,
    path: string,
  ): { readonly ref: string; readonly make: () => Capability | Promise<Capability> } {
    const { ref, config } = typeof reference === 'string' ? { ref: reference, config: undefined } : reference;
    const factory = this.#factories.get(ref);
    if (factory !== undefined) return { ref, make: () => factory(config) };
    const known = this.names.join(', ') || 'none';
    throw new HarnessConfigError([
      {
        path,
        message: `there is no capability named "${ref}" (known: ${known}); correct the name, or have the program register it`,
      },
    ]);
  }
}

function makeNow<Made>(make: () => Made, path: string): Made {
  try {
    return make();
  } catch (error) {
    throw refused(error, path);
  }
}

/** Lists bad fields by their paths where the factory names them, else the message of its error. */
function refused(error: unknown, path: string): HarnessConfigError {
  const issues = InvalidInputError.isInstance(error)
    ? error.issues.map((issue) => ({ ...issue, path: issue.path === '' ? path : `${path}.${issue.path}` }))
    : [{ path, message: errorText(error) }];
  return new HarnessConfigError(issues, { cause: error });
}
