import { type Capability, InvalidInputError } from '@x/core';
import { errorText } from '@x/core/internal';
import { HarnessConfigError } from '../errors/harness-config-error.js';

/** The name of a capability, with its configuration if it has one, as in a configuration file. */
export type CapabilityReference = string | { readonly ref: string; readonly config?: unknown };

/** The paths of a capability in a configuration file, for error messages. */
export interface CapabilityPlace {
  readonly path: string;
  /** The path of its configuration. */
  readonly config: string;
  /** Key that is in the paths of the capability's errors but not in the file: `servers` for the key `mcp_servers`. */
  readonly omitted?: string | undefined;
}

/** Creates a capability. The factory validates the configuration, and may connect to a service first. */
type CapabilityFactory = (config: unknown) => Capability | Promise<Capability>;

/** Resolves capabilities by name, so that an agent can be configured without code. */
export class CapabilityRegistry {
  readonly #factories = new Map<string, CapabilityFactory>();

  /** Registers a capability under a name. Replaces an earlier one of that name. */
  register(name: string, factory: CapabilityFactory): this {
    this.#factories.set(name, factory);
    return this;
  }

  /** The registered names, sorted. */
  get names(): readonly string[] {
    return [...this.#factories.keys()].sort();
  }

  /**
   * Creates a capability; `place` is the path of the reference, for errors.
   *
   * @throws {HarnessConfigError} when the name is unknown or the factory fails.
   */
  async load(
    reference: CapabilityReference,
    place: string | CapabilityPlace = 'capabilities',
  ): Promise<Capability> {
    const { ref, config } = typeof reference === 'string' ? { ref: reference, config: undefined } : reference;
    const path = typeof place === 'string' ? place : place.path;
    const factory = this.#factories.get(ref);
    if (factory === undefined) {
      const known = this.names.join(', ') || 'none';
      const message = `there is no capability named "${ref}" (known: ${known}); correct the name, or register the capability in the program`;
      throw new HarnessConfigError([{ path, message }]);
    }
    try {
      return await factory(config);
    } catch (error) {
      const made = `${path}.${ref}`;
      throw refused(error, typeof place === 'string' ? { path: made, config: made } : place);
    }
  }
}

/** Lists invalid fields by path if the factory reports them, otherwise the message of its error. */
function refused(error: unknown, { path, config, omitted }: CapabilityPlace): HarnessConfigError {
  const isListed = InvalidInputError.isInstance(error) || HarnessConfigError.isInstance(error);
  const pathOf = (own: string) => {
    if (own === '') return path;
    return `${config}.${omitted !== undefined && own.startsWith(`${omitted}.`) ? own.slice(omitted.length + 1) : own}`;
  };
  const issues = isListed
    ? error.issues.map((issue) => ({ ...issue, path: pathOf(issue.path) }))
    : [{ path, message: errorText(error) }];
  return new HarnessConfigError(issues, { cause: error });
}
