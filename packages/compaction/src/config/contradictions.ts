import type { z } from 'zod';
import type { SyntheticTrimOptions } from './stage-schemas.js';

interface Checked {
  readonly triggerMessages: number;
  readonly triggerTokens: number;
  readonly budgetPercent: number;
  readonly maxTokens: number;
  readonly keepMessages: number;
  readonly keepTokens: number;
  readonly contextWindow?: number | undefined;
  readonly memoryTiers?: { readonly hotMessages: number; readonly warmMessages: number } | undefined;
  readonly syntheticTrim: false | SyntheticTrimOptions;
  readonly summarizer: 'auto' | 'none';
  readonly model?: unknown;
}

/** Refuses what would be due again at once, could never run, or says two things. */
export function refuseContradictions(config: Checked, context: z.RefinementCtx): void {
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const { triggerMessages, triggerTokens, keepMessages, keepTokens, maxTokens, memoryTiers } = config;

  if (triggerMessages > 0 && keepTokens === 0 && !memoryTiers && keepMessages >= triggerMessages) {
    refuse(
      ['keepMessages'],
      `${keepMessages} must be below triggerMessages ${triggerMessages}, or a reduction is due again at once`,
    );
  }
  if (memoryTiers && keepTokens > 0) {
    refuse(['keepTokens'], 'and memoryTiers both say what stays; leave one of them out');
  }
  if (memoryTiers && triggerMessages > 0) {
    const kept = memoryTiers.hotMessages + memoryTiers.warmMessages;
    if (kept >= triggerMessages) {
      refuse(
        ['memoryTiers'],
        `keeps ${kept} messages, which must be below triggerMessages ${triggerMessages} (0 switches that trigger off)`,
      );
    }
  }
  for (const [name, trigger] of Object.entries({ triggerTokens, maxTokens })) {
    if (trigger > 0 && keepTokens >= trigger) {
      refuse(['keepTokens'], `${keepTokens} must be below ${name} ${trigger}`);
    }
  }
  if (config.contextWindow !== undefined && maxTokens > config.contextWindow) {
    refuse(['maxTokens'], `${maxTokens} exceeds contextWindow ${config.contextWindow}`);
  }
  const { syntheticTrim, budgetPercent } = config;
  if (syntheticTrim && maxTokens === 0 && budgetPercent > 0 && syntheticTrim.trimMaxTokens === 0) {
    if (syntheticTrim.trimThreshold >= budgetPercent) {
      refuse(
        ['syntheticTrim', 'trimThreshold'],
        `${syntheticTrim.trimThreshold} must be below budgetPercent ${budgetPercent}`,
      );
    }
  }
  if (config.summarizer === 'none' && config.model) {
    refuse(['summarizer'], 'is "none" although a model is given; leave one of them out');
  }
}
