import type { Model } from '@x/core';
import type { Stage } from '../stage.js';
import { nativeIsOff } from '../stages/summarize.js';
import type { ResolvedCapabilityConfig } from './capability-config.js';

type Config = Pick<ResolvedCapabilityConfig, 'stages' | 'preset' | 'model'>;

/** Returns a warning if a configuration asks for a native compaction that the model does not offer, and the stages that still run. */
export function nativeIsMissing(config: Config, stages: readonly Stage[], model: Model): string | undefined {
  const at = stages.findIndex(({ name }) => name === 'native');
  // In a preset, native is the second stage only if the user asked for it.
  const isAskedFor = config.stages !== undefined && (config.preset === undefined ? at !== -1 : at === 1);
  if (model.compact || !isAskedFor) return undefined;
  const others = stages.flatMap(({ name }) => (name === 'native' ? [] : name));
  const rest =
    others.length > 0
      ? `These stages still run: ${others.join(', ')}`
      : 'No other stage reduces the conversation';
  return `The stage native does nothing: ${nativeIsOff(model.id)} ${rest}.`;
}

/** Returns a warning if a model offers a native compaction that no stage uses, and how to use it. */
export function nativeIsUnused(config: Config, stages: readonly Stage[], model: Model): string | undefined {
  if (!model.compact || stages.some(({ name }) => name === 'native')) return undefined;
  let remedy = `Preset ${config.preset} has no such stage: leave the preset out to use the default stages`;
  if (config.preset === undefined) remedy = 'Add native to the stages';
  if (config.preset === 'everruns') remedy = 'Write strategy: auto or native';
  return (
    `${model.id} offers its own compaction (native_compaction: auto), but no stage uses it. ` +
    `${remedy}, or leave native_compaction out.`
  );
}
