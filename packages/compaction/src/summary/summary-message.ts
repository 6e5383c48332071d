import {
  type JsonObject,
  type Message,
  type OpaqueBlock,
  type TextBlock,
  textOf,
  userMessage,
} from '@x/core';
import { LINE_BREAK, memoize, numbersIn, withNumbers } from '@x/core/internal';
import { marksOf, stringsIn, wayBack } from '../conversation/marks.js';
import { type Entry, entriesSchema, legendOf, parseEntries, renderEntries } from '../record/entry.js';

const OPEN = '[CONVERSATION_SUMMARY]';
const CLOSE = '[/CONVERSATION_SUMMARY]';
const TAGS = /\[(\/?)CONVERSATION_SUMMARY\]/g;
const FIRST_LINE = 'Record of earlier messages, not a request';
const ASKED = ": what the user asked stands before it in the user's own words";
const QUOTED = ', as far as there was room; » quotes the rest';
const RECORD = '## RECORD';
const CARRIED = '## CARRIED OVER';

/** Matches the headline of a section. */
const HEADLINES = new RegExp(
  `(?<=^|${LINE_BREAK.source})(?:${RECORD}|${CARRIED})(?=\\s*?(?:$|${LINE_BREAK.source}))`,
  'g',
);

/** A model's text about the beginning of a conversation. */
export interface Narrative {
  readonly text: string;
  /** The id of the last message that it covers; `undefined` if unknown. */
  readonly to?: string | undefined;
  /** The running number of that message. */
  readonly at?: number | undefined;
}

/** The parts of a summary. */
export interface SummaryParts {
  /** The text that a model wrote; `undefined` if the summary is the record alone. */
  readonly narrative: Narrative | undefined;
  readonly record: readonly Entry[];
  readonly appendix: string | undefined;
  readonly logLocation: string | undefined;
  /** A sentence that tells the model how to recall a message by its number; `undefined` if it cannot. */
  readonly recall: string | undefined;
  /** Ids of the messages that this summary replaces, including earlier summaries. */
  readonly covers: readonly string[];
  /** The number of messages of the session up to this summary, including those in front of it. */
  readonly count: number;
  /** Numbers of the requests in front of the summary, by id. */
  readonly standing: ReadonlyMap<string, number>;
  /** `true` if there are requests in front of the summary. They have no numbers if the metadata of earlier summaries was lost. */
  readonly isAfterRequests: boolean;
  /** The provider's compaction of the same messages, and the id of the model that can read it. */
  readonly native?: { readonly modelId: string; readonly content: readonly OpaqueBlock[] } | undefined;
}

/**
 * Makes the message that replaces the older part of a conversation. The next compaction reads the record from the metadata, or parses the
 * text if the metadata is lost. With a provider's compaction, the text before it is for other models, and the text after it is for all
 * models.
 */
export function summaryMessage(parts: SummaryParts): Message {
  const { narrative, record, appendix, logLocation, covers, count, standing, isAfterRequests, native } =
    parts;
  const where = wayBack(parts);
  const asked = new Set(standing.values());
  const isQuoted = record.some(({ kind, at }) => kind === 'asked' && !asked.has(at));
  const words = isAfterRequests ? ASKED + (isQuoted ? QUOTED : '') : '';
  const isOlder = narrative?.at !== undefined && narrative.at < count;
  const sections = [
    `${FIRST_LINE}${words}.${where ? ` ${where}` : ''}`,
    isOlder && asOf(narrative.at),
    narrative && withoutFrame(narrative.text),
    record.length > 0 && [RECORD, legendOf(record), withoutTags(renderEntries(record))].join('\n'),
  ];
  const carried = appendix && `${CARRIED}\n${withoutFrame(appendix)}`;
  const content = native
    ? [...wrapped(sections), ...native.content, ...wrapped([where, carried])]
    : wrapped([...sections, carried]);
  const message = userMessage(content, {
    kind: 'summary',
    metadata: {
      ...withNumbers({ last: count, standing }),
      ...(native ? { modelId: native.modelId } : {}),
      '@x/compaction': {
        ...marksOfNarrative(narrative),
        record: record as readonly JsonObject[],
        covers,
        ...(logLocation === undefined ? {} : { logLocation }),
      },
    },
  });
  recordsMade.set(message, record);
  return message;
}

/** The records of summaries that this process made. They need no validation. */
const recordsMade = new WeakMap<Message, readonly Entry[]>();

function marksOfNarrative(narrative: Narrative | undefined): JsonObject {
  if (narrative === undefined) return {};
  const { text, to, at } = narrative;
  return {
    narrative: withoutFrame(text),
    ...(to === undefined ? {} : { to }),
    ...(at === undefined ? {} : { at }),
  };
}

function asOf(at: number | undefined): string {
  return at === undefined
    ? ''
    : `It covers the messages up to r${at}. If later messages say otherwise, they are right.`;
}

/** Makes the message for a late narrative. It stays in the conversation until the next compaction merges it into a summary. */
export function narrativeMessage(narrative: Narrative): Message {
  const content = wrapped([`${FIRST_LINE}. ${asOf(narrative.at)}`, withoutFrame(narrative.text)]);
  return userMessage(
    content.map((block) => ({ ...block, origin: 'server' })),
    {
      kind: 'synthetic',
      metadata: { '@x/compaction': marksOfNarrative(narrative) },
    },
  );
}

/** Tests if a message is a late narrative. */
export function isNarrative(message: Pick<Message, 'kind' | 'metadata'>): boolean {
  return message.kind === 'synthetic' && typeof marksOf(message).narrative === 'string';
}

/** Tests whether a message is a summary or a late narrative. */
export function isOfSummary(message: Pick<Message, 'kind' | 'metadata'>): boolean {
  return message.kind === 'summary' || isNarrative(message);
}

/** Lists the ids of the messages that a summary replaces. */
export function coveredBy(message: Message): readonly string[] {
  return message.kind === 'summary' ? stringsIn(marksOf(message).covers) : [];
}

/** Tests if a text is a summary, by how it begins and ends. For messages that have lost their metadata. */
export function isSummaryText(text: string, isAsked: boolean): boolean {
  const words = isAsked ? [ASKED, ASKED + QUOTED] : [''];
  return (
    words.some((each) => text.startsWith(`${OPEN}\n${FIRST_LINE}${each}.`)) && text.trimEnd().endsWith(CLOSE)
  );
}

function wrapped(sections: readonly (string | false | undefined)[]): readonly TextBlock[] {
  const text = sections.filter(Boolean).join('\n\n');
  return text === '' ? [] : [{ type: 'text', text: `${OPEN}\n${text}\n${CLOSE}` }];
}

/** The content of earlier summaries. */
export interface EarlierSummaries {
  /** The texts that models wrote, oldest first. Includes summaries of other programs. */
  readonly narrative: Narrative | undefined;
  /** The text that the next narrative updates: the narratives, and the records of summaries without one. */
  readonly told: Narrative | undefined;
  readonly record: readonly Entry[];
  readonly count: number;
  readonly standing: ReadonlyMap<string, number>;
}

/** Reads earlier summaries from their text, so that a summary survives programs that keep only text. */
export function readSummaries(summaries: readonly Message[]): EarlierSummaries {
  const read = summaries.map(readSummary);
  // A late narrative includes everything before it.
  const texts = read.slice(Math.max(0, summaries.findLastIndex(isNarrative)));
  return {
    narrative: joined(texts.map(({ narrative }) => narrative)),
    told: joined(texts.map(({ told }) => told)),
    record: read.flatMap(({ record }) => record),
    count: Math.max(0, ...read.map(({ count }) => count)),
    standing: new Map(read.flatMap(({ standing }) => [...standing])),
  };
}

function joined(narratives: readonly (Narrative | undefined)[]): Narrative | undefined {
  const text = narratives.flatMap((narrative) => narrative?.text || []).join('\n\n');
  return text === '' ? undefined : { ...narratives.at(-1), text };
}

const readSummary = memoize((summary: Message): EarlierSummaries => {
  const marks = marksOf(summary);
  const text = textOf(summary).replaceAll(TAGS, '');
  const start = text.indexOf(`\n${RECORD}\n`);
  const lines = start === -1 ? '' : text.slice(start, endOfRecord(text, start)).trim();
  const stored = recordsMade.get(summary) ?? entriesSchema.safeParse(marks.record).data;
  // The text is authoritative, because the model reads it. If the stored entries differ from it, they belong to another summary.
  const isOfText = stored !== undefined && lines.endsWith(withoutTags(renderEntries(stored)).trim());
  const record = isOfText ? stored : parseEntries(lines);
  const written = start === -1 ? text.trim() : undefined;
  const to = typeof marks.to === 'string' ? marks.to : undefined;
  const narrative = { text: typeof marks.narrative === 'string' ? marks.narrative : (written ?? ''), to };
  const { last, standing } = numbersIn(summary);
  return {
    narrative,
    told: narrative.text === '' ? { text: lines } : narrative,
    record,
    count: Math.max(last, record.at(-1)?.at ?? 0),
    standing,
  };
});

function endOfRecord(text: string, start: number): number {
  const carried = text.indexOf(`\n${CARRIED}\n`, start);
  return carried === -1 ? text.length : carried;
}

/** Escapes tags and section headlines, so that a text cannot inject entries into the record. */
function withoutFrame(text: string): string {
  return withoutTags(text).replaceAll(HEADLINES, '#$&');
}

/** Escapes the wrapper's tags, so that neither a model nor a user can open or close it from within. */
function withoutTags(text: string): string {
  return text.replaceAll(TAGS, '($1CONVERSATION_SUMMARY)');
}
