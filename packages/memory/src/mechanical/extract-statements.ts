import { headOf, type Message } from '@x/core';
import { factKey } from '../bullets.js';
import { plainLine } from '../flush/parse-bullets.js';

/** What a statement is, the most important first. */
type StatementKind = 'Preference' | 'Decision' | 'Fact';

interface Statement {
  readonly kind: StatementKind;
  readonly text: string;
  readonly weight: number;
}

// A full stop inside a name or a number ends nothing.
const SENTENCE_END = /(?<=[.!?])\s+|(?<=[。！？])|\n+/u;
const DECORATION = /^(?:[-*•#>\s]|\d+[.)]\s)+|\*\*/g;
const SHORTEST = 4;
/** Longer ones are pasted text. */
const LONGEST = 400;

/** What people like and want always, in the languages that this knows. */
const PREFERENCE =
  /\b(?:I|we)(?:'d| would| really| usually| always| never| do not| don't)* (?:prefer|like|love|hate|dislike|avoid)\b|\b(?:always|never|from now on|by default|please (?:do not|don't|use|call|keep))\b|\bmy favou?rite\b|\bcall me\b|\b(?:ich (?:bevorzuge|mag|hasse)|immer|nie(?:mals)?)\b|\b(?:je préfère|toujours|jamais|prefiero|siempre|nunca|prefiro|sempre|preferisco)\b|喜欢|偏好|总是|不要|好き|嫌い|常に|좋아|항상/iu;
const DECISION =
  /\b(?:decided|decision|we(?:'ll| will)|let'?s (?:use|go|take|keep|drop)|going with|agreed|chose|opted|instead of|rather than|root cause|turns out)\b|\b(?:entschieden|beschlossen|nehmen wir)\b|\b(?:décidé|decidido|deciso)\b|决定|決め|결정/iu;
const STATED =
  /\b(?:remember|note that|keep in mind|for the record|FYI)\b|\b(?:my|our|the|his|her|their|its) [\p{L}\p{N}_ .'/-]{1,80} (?:is|are|was|were|lives?|runs?|belongs?|must|has|have|uses?|begins?|starts?|ends?|costs?|takes?)\b|\b(?:I am|I'm|I work|I live|I use|we are|we're|we have|we work|we use)\b|\b(?:merk dir|denk daran|ich (?:bin|heiße|wohne|arbeite|nutze)|mein(?:e|er)? [\p{L}-]{1,40} ist|unsere?r? [\p{L}-]{1,40} ist)\b|\b(?:je suis|je m'appelle|me llamo|mi nombre|soy|meu nome|il mio nome)\b|记住|我叫|我是|我的|覚えて|私の|私は|기억|저는/iu;
/** Names, numbers and quotations: what cannot be guessed again. */
const SPECIFIC = /\d|["“«「`]|[\p{L}\p{N}]+[._/@:-][\p{L}\p{N}]+|(?<=\p{L}\s)\p{Lu}\p{L}+/u;
const QUESTION =
  /[?？]\s*$|^(?:can|could|would|will|do|does|did|is|are|what|why|how|when|where|who|which)\b.*\?/iu;
/** A request is about this conversation. */
const REQUEST =
  /^(?:(?:please|now|then|also|and|ok|can you|could you|would you|will you|I want you to|I need you to),? )*(?:fix|add|run|write|show|make|create|open|read|explain|tell|give|list|find|check|update|delete|remove|change|go|continue|try|look|help)\b/iu;

/**
 * What a conversation states, found by pattern and without a model: preferences, decisions and facts, in the speaker's
 * own words and labeled as such. Most patterns are English; a statement of the user with names or numbers in it is
 * taken in any language.
 */
export function extractStatements(messages: readonly Message[], maxStatements: number): readonly string[] {
  const found = new Map<string, Statement>();
  for (const message of messages) {
    for (const text of sentencesOf(message)) {
      const statement = message.role === 'user' ? stated(text) : concluded(text);
      const key = factKey(text);
      if (statement !== undefined && !found.has(key)) found.set(key, statement);
    }
  }
  const all = [...found.values()];
  const chosen = new Set(all.toSorted((left, right) => right.weight - left.weight).slice(0, maxStatements));
  return all.filter((one) => chosen.has(one)).map(({ kind, text }) => `${kind} (as stated): ${text}`);
}

function sentencesOf({ role, content }: Message): readonly string[] {
  if (role !== 'user' && role !== 'assistant') return [];
  return content
    .flatMap((block) => (block.type === 'text' ? block.text.split(SENTENCE_END) : []))
    .map((sentence) => plainLine(sentence.replaceAll(DECORATION, '')))
    .filter((sentence) => sentence.length >= SHORTEST && sentence.length <= LONGEST);
}

function stated(text: string): Statement | undefined {
  if (QUESTION.test(text)) return undefined;
  const specific = SPECIFIC.test(text) ? 1 : 0;
  if (PREFERENCE.test(text)) return { kind: 'Preference', text, weight: 4 + specific };
  if (DECISION.test(text)) return { kind: 'Decision', text, weight: 3 + specific };
  if (STATED.test(text)) return { kind: 'Fact', text, weight: 2 + specific };
  if (specific === 0 || REQUEST.test(text)) return undefined;
  return { kind: 'Fact', text: headOf(text, LONGEST), weight: 1 };
}

// A model says much; only what it says to have found out or settled is kept.
function concluded(text: string): Statement | undefined {
  if (QUESTION.test(text) || !DECISION.test(text)) return undefined;
  return { kind: 'Decision', text, weight: SPECIFIC.test(text) ? 2 : 1 };
}
