import { goToConversation, goToNew, keysOpen, togglePanel } from '../state/view.js';

/** The keyboard shortcuts, which are active unless the user is typing. Those without an action belong to a part of the page. */
export const keys: readonly (readonly [key: string, meaning: string, action?: () => unknown])[] = [
  [
    '/',
    'write a message or a command: /compact [what to keep], /undo, /new',
    () => document.querySelector<HTMLElement>('.composer textarea')?.focus(),
  ],
  ['j', 'next entry', () => moveTurn(1)],
  ['k', 'previous entry', () => moveTurn(-1)],
  ['o', 'open or close what is folded in an entry', openTurn],
  ['c', 'show or hide the context', togglePanel],
  ['← →', 'in the chart: previous and next request or compaction'],
  ['n', 'new conversation', goToNew],
  ['Escape', 'from a file back to the conversation', goToConversation],
  ['?', 'this list', () => (keysOpen.value = true)],
];

/** Listens for keyboard shortcuts. Returns a function that stops it. */
export function startKeyboard(): () => void {
  const onKey = (event: KeyboardEvent) => {
    const { target, key } = event;
    const isTyping = target instanceof HTMLElement && target.matches('input, textarea');
    const [, , action] = keys.find(([name]) => name === key) ?? [];
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping || action === undefined) return;
    if (document.querySelector('dialog[open]')) return;
    event.preventDefault();
    action();
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}

/** Focuses the turn after or before the focused one. If none is focused, focuses the last. */
function moveTurn(direction: 1 | -1): void {
  const turns = [...document.querySelectorAll<HTMLElement>('[data-turn]')];
  const current = turns.findIndex((turn) => turn.contains(document.activeElement));
  const next = current < 0 ? turns.at(-1) : turns[current + direction];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: 'nearest' });
}

/** Expands or collapses everything in the focused turn. */
function openTurn(): void {
  const turn = document.activeElement?.closest('[data-turn]');
  const all = [...(turn?.querySelectorAll<HTMLElement>('[data-fold]') ?? [])];
  const folds = all.filter((fold) => !fold.closest('.fold-inside'));
  const closed = folds.filter((fold) => fold.getAttribute('aria-expanded') === 'false');
  for (const fold of closed.length > 0 ? closed : folds) fold.click();
}
