import { type Message, textOf, userMessage } from '@x/core';
import { marksOf } from '../conversation/marks.js';
import { type Ledger, readLedger, storeLedger } from '../ledger/ledger.js';

const OPEN = '[CONVERSATION_SUMMARY]';
const CLOSE = '[/CONVERSATION_SUMMARY]';
const TAGS = /\[(\/?)CONVERSATION_SUMMARY\]/g;

/** What a summary is made of. */
export interface SummaryParts {
  /** What a model wrote; `undefined` when the ledger is all there is. */
  readonly narrative: string | undefined;
  readonly ledger: Ledger;
  /** The ledger as text, within its budget. */
  readonly ledgerText: string;
  readonly appendix: string | undefined;
  readonly logLocation: string | undefined;
  /** Ids of the messages that this summary replaces, the earlier summary among them. */
  readonly covers: readonly string[];
}

/**
 * The message that stands for the older part of a conversation. Narrative and ledger are kept beside the text too, so
 * that the next compaction updates them instead of summarizing a summary.
 */
export function summaryMessage(parts: SummaryParts): Message {
  const { narrative, ledger, ledgerText, appendix, logLocation, covers } = parts;
  const where = logLocation ? ` Full messages: ${logLocation}.` : '';
  const sections = [
    `Record of earlier messages, not a request.${where}`,
    narrative,
    ledgerText && `## LEDGER\n${ledgerText}`,
    appendix && `## CARRIED OVER\n${appendix}`,
  ];
  const body = sections
    .filter((section) => section)
    .map((section) => withoutTags(section as string))
    .join('\n\n');
  return userMessage(`${OPEN}\n${body}\n${CLOSE}`, {
    kind: 'summary',
    metadata: {
      '@x/compaction': {
        ...(narrative === undefined ? {} : { narrative: withoutTags(narrative) }),
        ledger: storeLedger(ledger),
        covers,
        ...(logLocation === undefined ? {} : { logLocation }),
      },
    },
  });
}

/** What earlier summaries hold, oldest first. One that somebody else wrote counts as narrative. */
export function readSummaries(summaries: readonly Message[]): {
  readonly narrative: string | undefined;
  readonly ledgers: readonly Ledger[];
} {
  const narratives: string[] = [];
  const ledgers: Ledger[] = [];
  for (const summary of summaries) {
    const marks = marksOf(summary);
    const ledger = readLedger(marks.ledger);
    if (ledger) ledgers.push(ledger);
    if (typeof marks.narrative === 'string') narratives.push(marks.narrative);
    else if (!ledger) narratives.push(textOf(summary).replaceAll(TAGS, '').trim());
  }
  return { narrative: narratives.filter(Boolean).join('\n\n') || undefined, ledgers };
}

/** Neither a model nor a user can open or close the wrapper from within. */
function withoutTags(text: string): string {
  return text.replaceAll(TAGS, '($1CONVERSATION_SUMMARY)');
}
