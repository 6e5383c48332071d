import { isObject, isTimeToRest, type Work } from '@x/core/internal';
import { lineEnd } from '../conversation/lines.js';
import { outcomeOf, pathOf } from '../conversation/tool-calls.js';
import { OLD_KEY } from './calls.js';
import type { Entry } from './entry.js';
import type { Excerpt } from './excerpts.js';
import { GAP } from './readable.js';
import type { Made, Turn } from './turns.js';

// Three kinds of lines add nothing to a record: facts that every result of a tool repeats, such as the shop's address in each order, lines
// that a later edit of the same file replaced, and lines that an earlier excerpt has word for word.

/** If at least this number and this share of a tool's results state the same fact, later results do not repeat it. */
const LEAST_RESULTS = 4;
const LEAST_SHARE = 0.9;
/** Maximum number of compared excerpts per result. */
const COMPARED = 40;
/** Minimum number of facts on a line for it to count as a list of facts. */
const LIST = 3;
/** Minimum UTF-16 units of a compared line. */
const SHORTEST = 4;
/** Maximum UTF-16 units of a line that may be quoted twice. Such a line, for example a bracket, keeps its neighbors readable. */
const SHORTEST_REPEAT = 12;
/** The mark of a gap at the beginning of an excerpt. */
const GAP_BEFORE = `${GAP} `;
/** Matches the number that a tool prints before a line of a file. */
const LINE_NUMBER = /^\s*\d+(?:[\t→:|]\s?)/;

/** Removes repeated facts and replaced lines from excerpts of results. */
export class StaleLines {
  /** By tool: the facts that nearly all its results state, each with the id of the first call whose result states it. */
  readonly #shared = new Map<string, ReadonlyMap<string, string>>();
  /** By path: the lines that edits replaced, each with the number of the last message that replaced it. */
  readonly #replaced = new Map<string, Map<string, number>>();

  readonly #told = new Set<string>();

  private constructor() {}

  /** @param earlier The entries of earlier records. Their facts are not repeated. */
  static *in(turns: readonly Turn[], earlier: readonly Entry[]): Work<StaleLines> {
    const stale = new StaleLines();
    const tools = new Map<string, Made[]>();
    for (const { at, calls } of turns) {
      if (isTimeToRest()) yield;
      for (const call of calls) {
        stale.#addReplaced(at, call);
        const made = tools.get(call.use.name) ?? [];
        tools.set(call.use.name, made);
        made.push(call);
      }
    }
    for (const entry of earlier) {
      if (entry.kind !== 'found') continue;
      for (const fact of entry.text.split('\n').flatMap(factsOf)) stale.#told.add(fact);
    }
    for (const [name, made] of tools) {
      // A shared fact is also in all but a few of the shortest results, so the long ones are mostly not split into facts.
      const most = made.length - Math.max(LEAST_RESULTS, made.length * LEAST_SHARE);
      const shortest = made
        .map((call, index) => ({ call, index, size: call.result?.numbered.excerpts.parts.length ?? 0 }))
        .sort((one, other) => one.size - other.size);
      const facts = new Map<string, { first: number; times: number }>();
      let count = 0;
      for (const { call, index } of shortest) {
        if (isTimeToRest()) yield;
        if (count > most && facts.size === 0) break;
        for (const fact of new Set(partsOf(call).flatMap(({ text }) => text.split('\n').flatMap(factsOf)))) {
          const known = facts.get(fact);
          if (!known && count > most) continue;
          facts.set(fact, { first: Math.min(known?.first ?? index, index), times: (known?.times ?? 0) + 1 });
        }
        count++;
        if (count > most) for (const [fact, { times }] of facts) if (count - times > most) facts.delete(fact);
      }
      const ids = [...facts].map(([fact, { first }]) => [fact, (made[first] as Made).use.id] as const);
      if (ids.length > 0) stale.#shared.set(name, new Map(ids));
    }
    return stale;
  }

  #addReplaced(at: number, { use, result }: Made): void {
    const path = pathOf(use);
    if (path === undefined || !isObject(use.input) || !result || outcomeOf(result.block, use).failed) return;
    const texts = Object.entries(use.input).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    const kept = new Set(
      texts.flatMap(([key, text]) => (OLD_KEY.test(key) ? [] : text.split('\n').map(bare))),
    );
    const lines = this.#replaced.get(path) ?? new Map<string, number>();
    for (const [key, text] of texts) {
      if (!OLD_KEY.test(key)) continue;
      for (const line of text.split('\n').map(bare))
        if (!kept.has(line) && line.length >= SHORTEST) lines.set(line, at);
    }
    if (lines.size > 0) this.#replaced.set(path, lines);
  }

  /**
   * Returns a function that removes stale lines and facts from excerpts of a call's result, and marks the gaps. The function also removes
   * lines that are in `quoted`, except short ones, and stops after `most` UTF-16 units.
   */
  of({ use, result }: Made): (text: string, quoted?: ReadonlySet<string>, most?: number) => string {
    const replaced = this.#replaced.get(pathOf(use) ?? '');
    const shared = this.#shared.get(use.name);
    const told = new Set<string>();
    for (const [fact, first] of shared ?? []) if (first !== use.id || this.#told.has(fact)) told.add(fact);
    const at = result?.numbered.at ?? 0;
    const isStale = (line: string) => (replaced?.get(bare(line)) ?? 0) > at;
    return (text, quoted, most = Number.POSITIVE_INFINITY) => {
      if (!shared && !replaced && !quoted) return text;
      let shown = '';
      for (let start = 0; start <= text.length; ) {
        const end = lineEnd(text, start);
        const line = text.slice(start, end);
        start = end + 1;
        const fresh = isStale(line) ? GAP : withGaps(line, told);
        const rest = fresh.length > SHORTEST_REPEAT && quoted?.has(fresh) ? GAP : fresh;
        if (rest !== GAP) shown += shown === '' || shown === GAP_BEFORE ? rest : `\n${rest}`;
        else if (!shown.trimEnd().endsWith(GAP)) shown += shown === '' ? GAP_BEFORE : ` ${GAP}`;
        if (shown.length > most && shown.trim().length > most) break;
      }
      return shown === GAP_BEFORE ? '' : shown;
    };
  }
}

function partsOf({ use, result }: Made): readonly Excerpt[] {
  const parts = result?.numbered.excerpts.parts.filter((part) => part.callId === use.id) ?? [];
  return parts.slice(0, COMPARED);
}

/** Returns a line of a file without its number and indentation. */
function bare(line: string): string {
  return line.replace(LINE_NUMBER, '').trim();
}

/** Returns the facts of a line, such as `status shipped`. A line that is not a list of facts is one fact. */
function factsOf(line: string): readonly string[] {
  if (!line.includes(', ')) return [line];
  const facts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < line.length; at++) {
    const sign = line[at];
    if (sign === '(') depth++;
    else if (sign === ')') depth--;
    else if (depth === 0 && sign === ',' && line[at + 1] === ' ') {
      facts.push(line.slice(start, at));
      start = at + 2;
    }
  }
  facts.push(line.slice(start));
  return facts.length < LIST ? [line] : facts;
}

/** Replaces facts that were already stated by a gap mark, one mark per run. */
function withGaps(line: string, told: ReadonlySet<string>): string {
  if (told.size === 0) return line;
  const shown = factsOf(line).map((fact) => (told.has(fact) ? GAP : fact));
  const kept = shown.filter((fact, index) => fact !== GAP || shown[index - 1] !== GAP);
  return kept.length === 1 && kept[0] === GAP ? GAP : kept.join(', ');
}
