import { readdirSync, readFileSync } from 'node:fs';

/** Kinds of text that a conversation is made of. */
export const corpusKinds = ['prose', 'code', 'json', 'chinese', 'russian'] as const;
export type CorpusKind = (typeof corpusKinds)[number];

/** Size of a message in UTF-16 units, about that of a tool's output. */
const MESSAGE_UNITS = 2_048;

/**
 * Messages of about 2 KB, the same in every run and no text twice: English from the documentation of Node's types,
 * code from the TypeScript compiler, Chinese and Russian from its translated messages, generated JSON records.
 */
export function readCorpus(kind: CorpusKind, maxBytes = 500_000): string[] {
  const random = seededRandom(20_261_121);
  const sections = shuffled(readSections[kind](random), random);
  const messages: string[] = [];
  let message = '';
  let bytes = 0;
  for (const section of sections) {
    message += message === '' ? section : `\n${section}`;
    if (message.length < MESSAGE_UNITS) continue;
    messages.push(message);
    bytes += Buffer.byteLength(message);
    if (bytes >= maxBytes) break;
    message = '';
  }
  return messages;
}

/** A linear congruential generator of numbers from 0 to below 1. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const readSections: Readonly<Record<CorpusKind, (random: () => number) => string[]>> = {
  prose: readProse,
  code: () => cut(readModule('typescript/lib/typescript.js').slice(200_000, 1_400_000), 1_900),
  json: (random) => cut(generateRecords(random, 3_000), 1_900),
  chinese: () => [...readTranslation('zh-cn'), ...readTranslation('zh-tw')],
  russian: () => readTranslation('ru'),
};

function readModule(path: string): string {
  return readFileSync(new URL(`../../../node_modules/${path}`, import.meta.url), 'utf8');
}

function readTranslation(language: string): string[] {
  const messages: unknown = JSON.parse(
    readModule(`typescript/lib/${language}/diagnosticMessages.generated.json`),
  );
  return Object.values(messages as Record<string, string>);
}

/** The doc comments of Node's types, without their code and their tags. */
function readProse(): string[] {
  const folder = new URL('../../../node_modules/@types/node/', import.meta.url);
  const comments = new Set<string>();
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith('.d.ts')) continue;
    for (const [, comment = ''] of readModule(`@types/node/${file}`).matchAll(/\/\*\*([\s\S]*?)\*\//g)) {
      const text = comment
        .replace(/^\s*\* ?/gm, '')
        .replace(/```[\s\S]*?```/g, '')
        .replace(/^@.*$/gm, '');
      if (text.trim().length > 100) comments.add(text.trim());
    }
  }
  return [...comments];
}

const words = (
  'account address agent amount archive balance branch budget cache channel client cluster column commit context ' +
  'cursor customer delivery deploy device document domain engine entry error event export factor failure feature ' +
  'filter folder format gateway group handler history import index input invoice journal kernel label latency ' +
  'ledger limit locale market memory message metric migration module monitor network notice number object offer ' +
  'option order output owner package parser partner payload payment period policy portal product profile project ' +
  'prompt quota reader record region release report request reserve result review route runner schema search ' +
  'segment sensor server service session shipment signal source status storage stream summary supplier support ' +
  'ticket token tracker transfer trigger update upload user value vendor version volume wallet window worker'
).split(' ');

function generateRecords(random: () => number, count: number): string {
  const below = (limit: number) => Math.floor(random() * limit);
  const word = () => words[below(words.length)] ?? '';
  const hex = (digits: number) => Array.from({ length: digits }, () => below(16).toString(16)).join('');
  const records = Array.from({ length: count }, () => ({
    id: below(1e9),
    uuid: `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
    createdAt: new Date(1.6e12 + below(1.5e11)).toISOString(),
    customer: { name: `${word()} ${word()}`, email: `${word()}.${word()}${below(99)}@${word()}.example` },
    active: random() < 0.5,
    score: below(1e6) / 1e4,
    tags: [word(), `${word()}-${word()}`],
    items: Array.from({ length: 1 + below(3) }, () => ({ sku: hex(6), price_cents: below(1e5), note: null })),
    path: `/var/${word()}/${word()}_${below(1e4)}.json`,
  }));
  return JSON.stringify(records);
}

function cut(text: string, size: number): string[] {
  return Array.from({ length: Math.floor(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** Fisher and Yates's shuffle. */
function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other] as Item, result[last] as Item];
  }
  return result;
}
