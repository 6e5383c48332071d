import { contentTermsOf } from '../index/search-query.js';
import { factKey } from '../notes.js';
import type { Edit } from './edits.js';
import type { StoredFact } from './memory-state.js';
import type { FreshLine } from './new-notes.js';

/** Says that something else held before. */
const CHANGE =
  /\b(?:now|no longer|not any ?more|from now on|instead|switched|changed|moved|these days)\b|\b(?:jetzt|nun|ab sofort|nicht mehr|umgezogen)\b|\b(?:maintenant|désormais|ahora|agora|adesso|ormai)\b|теперь|больше не|现在|改用|今は|これから|이제/iu;
/** `my time zone is …`: of two such lines about one thing, the newer holds. */
const ATTRIBUTE =
  /^(?:remember (?:that )?)?((?:my|our) [\p{L}\p{N}_ '-]{1,60}? (?:is|are)|call me|i live in|i work (?:at|for)|mein(?:e|er)? [\p{L}-]{1,40} ist|ich wohne in|je m'appelle|me llamo|我叫)/iu;
/** `I prefer …`: one may prefer many things, so that it takes a word of change as well. */
const STANCE =
  /^((?:i|we) (?:\w+ )?(?:prefer|use|like|want|work with)|ich (?:bevorzuge|nutze|mag)|je préfère|prefiero|我喜欢|我用)/iu;

/** What somebody uses, and what they use no more. */
const USED = /^(?:i|we) (?:\w+ )?use (.+)$/u;
const NOT_USED =
  /^(?:and |also |but |so )?(?:i|we) (?:currently )?(?:(?:no longer|do not|don't) use|stopped using) (.+?)(?: any ?more)?$/u;

/**
 * Edits without a model: each line of a note is a fact. One that contradicts an older fact in so many words replaces it:
 * another value of the same attribute, what is used no longer, the same comparison the other way round, or a stance with a word of change where
 * there was one such stance.
 */
export function ruleEdits(facts: readonly StoredFact[], notes: readonly FreshLine[]): readonly Edit[] {
  const edits: Edit[] = [];
  const replaced = new Set<string>();
  for (const note of notes) {
    const older = facts.filter(({ id }) => !replaced.has(id));
    const fact = older.find((other) => isOpposite(other.text, note.text)) ?? bySameSubject(older, note.text);
    if (fact !== undefined) replaced.add(fact.id);
    const earlier =
      fact === undefined ? edits.findIndex((edit) => contradicts(edit.text ?? '', note.text)) : -1;
    if (earlier >= 0) edits[earlier] = { ...(edits[earlier] as Edit), notes: [note], text: note.text };
    else edits.push({ notes: [note], fact, text: note.text });
  }
  return edits;
}

function bySameSubject(facts: readonly StoredFact[], text: string): StoredFact | undefined {
  const same = facts.filter((fact) => contradicts(fact.text, text));
  // Of several it is not plain which one is meant.
  return same.length === 1 ? same[0] : undefined;
}

function contradicts(older: string, newer: string): boolean {
  const [left, right] = [factKey(older), factKey(newer)];
  const dropped = NOT_USED.exec(right)?.[1];
  if (dropped !== undefined) return USED.exec(left)?.[1] === dropped;
  const attribute = ATTRIBUTE.exec(right)?.[1];
  if (attribute !== undefined) return ATTRIBUTE.exec(left)?.[1] === attribute && left !== right;
  const stance = STANCE.exec(right)?.[1];
  return stance !== undefined && CHANGE.test(right) && STANCE.exec(left)?.[1] === stance && left !== right;
}

/** `tabs over spaces`, and `spaces over tabs`. */
function isOpposite(older: string, newer: string): boolean {
  const [left, right] = [factKey(older), factKey(newer)];
  if (left === right || !/ (?:over|rather than|to|als|que|より) /u.test(right)) return false;
  const [words, others] = [contentTermsOf(left), contentTermsOf(right)];
  return words.size > 2 && words.size === others.size && [...words].every((word) => others.has(word));
}
