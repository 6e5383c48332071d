import type { AgentEvent, CompactionStep, ContextUsage } from '@x/core';
import { type KeptEvent, shortNumber } from '@x/harness/view';

type Compacted = Extract<AgentEvent, { readonly type: 'context.compacted' }>;
type Sizes = 'messagesBefore' | 'messagesAfter' | 'tokensBefore' | 'tokensAfter';
type Change = Pick<Compacted, Sizes> & { readonly reason?: string | undefined };

/** Why a compaction ran, for people. */
export const REASONS: Readonly<Record<Compacted['reason'], string>> = {
  proactive_budget: 'The window was nearly full',
  request_too_large: 'The provider refused the request as too large',
  manual: 'You asked for it',
};

/** Formats names of stages, such as `observation_masking+summarize`, as words. */
export function stagesInWords(names: string): string {
  return names.replaceAll('_', ' ').replaceAll('+', ' + ');
}

/**
 * Describes a change: `36 → 7 messages` if the count changed, and `19k → 8.4k tokens`. The request that an automatic compaction reduced was
 * never sent with its first size: `8.4k tokens sent instead of 19k`.
 */
export function changeInWords(change: Change): string {
  const { reason, messagesBefore, messagesAfter } = change;
  const [before, after] = [shortNumber(change.tokensBefore), shortNumber(change.tokensAfter)];
  const isUnsent = reason === 'proactive_budget';
  const tokens = isUnsent ? `${after} tokens sent instead of ${before}` : `${before} → ${after} tokens`;
  return messagesBefore === messagesAfter
    ? tokens
    : `${messagesBefore} → ${messagesAfter} messages · ${tokens}`;
}

const AUTHORS = {
  model: 'a model wrote the summary',
  provider: 'the provider wrote the summary',
  rules: 'rules wrote the summary',
};

/** Says who wrote the summary of a compaction, and whether a model's text was paid for but not used. */
export function authorInWords({ steps, usage }: Pick<Compacted, 'steps' | 'usage'>): string {
  const author = steps.findLast((step) => step.author)?.author;
  if (author === undefined) return usage ? 'a model was called' : 'no model was called';
  return AUTHORS[author] + (author === 'rules' && usage ? ': the text of the model was not used' : '');
}

/** Lists the notes of the steps that changed something or, without one, of all steps. */
export function stepNotes(steps: readonly CompactionStep[]): readonly string[] {
  const effective = steps.filter(({ tokensBefore, tokensAfter }) => tokensBefore !== tokensAfter);
  const shown = effective.length > 0 ? effective : steps;
  return shown.flatMap(({ stage, note }) => (note ? [`   ${stagesInWords(stage)}: ${note}`] : []));
}

/** Maximum number of compactions that are listed. */
const MOST = 10;

/** Lists the latest compactions of a session with their reasons, one line each. */
export function compactionLines(events: readonly KeptEvent[]): readonly string[] {
  const lines: string[] = [];
  // An undo also reverts the automatic changes after the compaction, so they are in its group.
  const standing: (readonly number[])[] = [];
  for (const event of events) {
    const undone = event.type === 'context.restored' ? standing.pop() : undefined;
    for (const line of undone ?? []) lines[line] += ' (undone)';
    if (event.type !== 'context.compacted') continue;
    const { reason, status, message } = event;
    const isMinor = reason === 'proactive_budget' && event.messagesBefore === event.messagesAfter;
    if (status === 'applied') standing.push([...((isMinor && standing.pop()) || []), lines.length]);
    lines.push(
      `- ${REASONS[reason]}: ${status === 'applied' ? `${changeInWords(event)} · ${authorInWords(event)}` : `${status}, ${message}`}`,
    );
  }
  return lines.slice(-MOST);
}

/** Returns the tokens in the window after the last of these events that has them. */
export function usageIn(events: readonly KeptEvent[]): ContextUsage | undefined {
  return events.flatMap((event) => ('context' in event && event.context) || []).at(-1);
}

/** Says how full the window is, such as `42 %`; an empty string if that is unknown. */
export function fullnessInWords({ total = 0, contextWindow }: Partial<ContextUsage> = {}): string {
  return contextWindow ? `${Math.round((100 * total) / contextWindow)} %` : '';
}

const HELD = 'no compaction runs until the request has grown by 5 % or exceeds the window';

/**
 * Says which compaction was undone, how full the window is now, and when the next compaction can run.
 *
 * @param before The compaction lines before the undo.
 * @param after The events after the undo.
 */
export function undoInWords(before: readonly string[], after: readonly KeptEvent[]): string {
  const undone = compactionLines(after).filter((line) => !before.includes(line));
  const usage = usageIn(after);
  const next =
    usage && usage.total > (usage.contextWindow ?? Infinity) ? 'the next message compacts first' : HELD;
  const fullness = fullnessInWords(usage);
  const full = fullness ? [`The window is ${fullness} full: ${next}.`] : [];
  return ['The compaction was undone. /compact compacts again.', ...undone, ...full].join('\n');
}
