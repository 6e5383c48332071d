import { effect, signal } from '@preact/signals';
import { callAnsweredBy } from './blocks.js';
import { lastApplied, phase, pin, pins, sessionId, transcript, unpin } from './session.js';
import { followEnd, following, goToConversation, holds, setOpen, sheetOpen, showPanel } from './view.js';

/** Scrolls to a message in the conversation: to a tool's result in its call, to a summary in its compaction. */
export function showMessage(messageId: string): void {
  const toolUseId = callAnsweredBy(messageId);
  const compaction = transcript.peek().messages.has(messageId) ? undefined : lastApplied.peek()?.id;
  if (compaction !== undefined) {
    showCompaction(compaction);
    return;
  }
  goToConversation();
  sheetOpen.value = false;
  if (toolUseId !== undefined) setOpen(toolUseId, true);
  const text = `[data-said="${CSS.escape(messageId)}"]`;
  const turn = `[data-messages~="${CSS.escape(messageId)}"]:not(:has(${text}))`;
  goTo(toolUseId === undefined ? `${text}, ${turn}` : `[data-fold="${CSS.escape(toolUseId)}"]`, 'center');
}

/** A message that a search found, until its conversation is open. */
export const found = signal<{ readonly session: string; readonly messageId: string } | undefined>(undefined);

effect(() => {
  const { session, messageId = '' } = found.value ?? {};
  if (phase.value !== 'ready' || sessionId.value !== session) return;
  found.value = undefined;
  if (transcript.peek().messages.has(messageId)) showMessage(messageId);
});

/** Opens a compaction at its position in the conversation. */
export function showCompaction(id: string): void {
  goToConversation();
  sheetOpen.value = false;
  // Without the others that the line of earlier compactions lists.
  setOpen(`${id}-place`, true);
  setOpen(`${id}-fold`, true);
  goTo(`#${CSS.escape(id)}`, 'start');
}

/** Opens the panel's explanation of how savings are counted. */
export function showSavings(): void {
  showPanel();
  setOpen('counted', true);
  goTo('[data-fold="counted"]', 'center');
}

/** Pins a message, or removes its pin. */
export function togglePin(messageId: string): void {
  const pinned = pins.peek().get(messageId);
  void (pinned === undefined ? pin(messageId) : unpin(pinned));
}

/** Moves the focus to the end of the conversation, for a button that goes away when it is pressed. Waits for a new conversation. */
export function goToEnd(frame = 0): void {
  followEnd();
  const end = document.querySelector<HTMLElement>('.conversation-end');
  if (end) end.focus({ preventScroll: true });
  else if (frame < 600) requestAnimationFrame(() => goToEnd(frame + 1));
}

function goTo(selector: string, block: ScrollLogicalPosition, frame = 0): void {
  requestAnimationFrame(() => {
    const place = document.querySelector<HTMLElement>(selector);
    // In the first frame, the opened part may not be drawn yet.
    if ((!place || frame === 0) && frame < 600) {
      goTo(selector, block, frame + 1);
      return;
    }
    if (!place) return;
    // The opened part makes the conversation longer, and following would scroll to its end.
    if (place.closest('.conversation-scroll')) {
      following.value = false;
      holds.value = true;
    }
    place.scrollIntoView({ block });
    if (place.tabIndex < 0) place.tabIndex = -1;
    place.focus({ preventScroll: true });
    // Marked until it loses the focus, because browsers do not show the focus after a click.
    place.dataset.shown = '';
    place.addEventListener('blur', () => delete place.dataset.shown, { once: true });
  });
}
