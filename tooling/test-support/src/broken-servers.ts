import type { Model } from '@x/core';
import { brokenServers as opened } from '../../../packages/testkit/src/broken-servers.js';
import type { ChaosModel } from './chaos-models.js';

/** Faults after which nothing more arrives, and faults that no client can take for an answer. A client decides about all others. */
const ENDS: readonly (readonly [RegExp, ChaosModel['ends']])[] = [
  [/^no response/, 'stalls'],
  [/^connection reset|status [45]\d\d|closed port$|shorter/, 'fails'],
];

/** The models of the model suite, as a list like `chaosModels`. Retries of the model's own should be off. */
export function brokenServers(open: (url: string) => Model): readonly ChaosModel[] {
  return opened(open).map((model) => ({
    ...model,
    ends: ENDS.find(([pattern]) => pattern.test(model.name))?.[1] ?? 'settles',
    refuses: /^status 4(00|04|13)$/.test(model.name),
  }));
}
