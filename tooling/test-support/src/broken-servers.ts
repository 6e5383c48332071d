import type { Model } from '@x/core';
import { brokenServers as opened } from '../../../packages/testkit/src/broken-servers.js';
import type { ChaosModel } from './chaos-models.js';

/** Faults by their outcome: those after which nothing more arrives, and those that every client must report as errors. */
const ENDS: readonly (readonly [RegExp, ChaosModel['ends']])[] = [
  [/^no response/, 'stalls'],
  [/^connection reset|status [45]\d\d|closed port$|shorter/, 'fails'],
];

/** Returns the models of the model suite in the form of `chaosModels`. `open` should disable the model's own retries. */
export function brokenServers(open: (url: string) => Model): readonly ChaosModel[] {
  return opened(open).map((model) => ({
    ...model,
    ends: ENDS.find(([pattern]) => pattern.test(model.name))?.[1] ?? 'settles',
    refuses: /^status 4(00|04|13)$/.test(model.name),
  }));
}
