import type { Compactor } from '@x/core';
import type { ReplaySetting, Strategy } from '../strategy.js';

/**
 * Makes a strategy of a compactor, which is called before every model call, as in a harness.
 *
 * @param create Makes the compactor of one conversation, for the setting that it is replayed in.
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
