import type { Reducer } from '../../reducer.js';
import type { StageName } from '../stages.js';

/** The groups that a preset fills in; what it leaves out has the default. */
export interface PresetSettings {
  readonly model?: null;
  readonly trigger: { readonly share?: number; readonly tokens?: number; readonly messages?: number };
  readonly keep: { readonly tokens?: number; readonly messages?: number };
  readonly summary: {
    readonly prompt?: string | undefined;
    readonly instructions?: string | undefined;
    readonly preserve?: readonly string[] | undefined;
    readonly toolResultLength?: number;
    readonly chunks?: number;
    readonly truncationRetries?: readonly number[];
  };
  readonly stages: readonly (StageName | Reducer)[];
}
