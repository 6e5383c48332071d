import type { Model } from '@x/core';
import { brokenServers as opened } from '../../../packages/testkit/src/broken-servers.js';
import type { ChaosModel } from './chaos-models.js';

/** Those after which nothing more comes, and those that no client can take for an answer; what it makes of the others is its own. */
const ENDS: readonly (readonly [RegExp, ChaosModel['ends']])[] = [
  [/^silence/, 'stalls'],
  [/^a reset|^[45]\d\d|for 502$|nowhere$|shorter/, 'fails'],
];

/** The models of the model suite, as a list like `chaosModels`. Retries of the model's own should be off. */
export function brokenServers(open: (url: string) => Model): readonly ChaosModel[] {
  return opened(open).map((model) => ({
    ...model,
    ends: ENDS.find(([pattern]) => pattern.test(model.name))?.[1] ?? 'settles',
    refuses: /^4(00|04|13)$/.test(model.name),
  }));
}
