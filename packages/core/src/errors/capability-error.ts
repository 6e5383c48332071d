import { hasBrand, XError } from './x-error.js';

/** Something was asked for that the parts in use cannot do, for example `compact` without a compaction capability. */
export class CapabilityError extends XError {
  /** The operation that was asked for. */
  readonly ability: string;

  constructor(ability: string, message: string, options: { cause?: unknown } = {}) {
    super('capability_missing', message, { cause: options.cause, brands: ['CapabilityError'] });
    this.ability = ability;
  }

  static override isInstance(error: unknown): error is CapabilityError {
    return hasBrand(error, 'CapabilityError');
  }
}
