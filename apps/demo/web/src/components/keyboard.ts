import { goToNew, toggleInspector } from '../state/route.js';
import { togglePanel } from '../state/view.js';

/** The keys that work wherever one does not type. */
export const keys: readonly (readonly [string, string])[] = [
  ['/', 'write'],
  ['j k', 'turns'],
  ['o', 'open'],
  ['c', 'context'],
  ['i', 'inspect'],
  ['n', 'new'],
];

/** Listens for them. Returns a function that ends it. */
export function startKeyboard(): () => void {
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const action = actions[event.key];
  if (action === undefined || document.querySelector('dialog[open]')) return;
  event.preventDefault();
  action();
}

const actions: Readonly<Record<string, (() => void) | undefined>> = {
  '/': () => document.querySelector<HTMLElement>('.composer textarea')?.focus(),
  j: () => moveTurn(1),
  k: () => moveTurn(-1),
  o: openTurn,
  c: togglePanel,
  i: toggleInspector,
  n: goToNew,
};

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, [contenteditable]');
}

/** Focuses the turn after or before the focused one; without one, the last. */
function moveTurn(direction: 1 | -1): void {
  const turns = [...document.querySelectorAll<HTMLElement>('[data-turn]')];
  const current = turns.findIndex((turn) => turn.contains(document.activeElement));
  const next = current < 0 ? turns.at(-1) : turns[current + direction];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: 'nearest' });
}

/** Opens all that is folded in the focused turn, or folds it again. */
function openTurn(): void {
  const turn = document.activeElement?.closest('[data-turn]');
  const all = [...(turn?.querySelectorAll<HTMLElement>('[data-fold]') ?? [])];
  // What lies within another fold is opened by itself.
  const folds = all.filter((fold) => !fold.closest('.fold-inside'));
  const closed = folds.filter((fold) => fold.getAttribute('aria-expanded') === 'false');
  for (const fold of closed.length > 0 ? closed : folds) fold.click();
}
