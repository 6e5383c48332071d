import type { Compactor } from '@x/core';
import type { ReplaySetting, Strategy } from '../strategy.js';

/**
 * Converts a compactor to a strategy. The compactor runs before every model call, as in a harness.
 *
 * @param create Creates the compactor for one conversation and its replay setting.
 */
export function withCompactor(create: (setting: ReplaySetting) => Compactor): Strategy {
  return (setting) => {
    const compactor = create(setting);
    return async (messages) => {
      const outcome = await compactor.compact(messages, {
        reason: 'proactive_budget',
        system: setting.system,
        contextWindow: setting.window,
      });
      if (outcome.status !== 'applied') return undefined;
      return {
        messages: outcome.messages,
        manifest: outcome.manifest,
        ...(outcome.usage === undefined ? {} : { summarizerTokens: outcome.usage.inputTokens }),
      };
    };
  };
}
