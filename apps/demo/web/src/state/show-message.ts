import { callAnsweredBy } from './blocks.js';
import { lastApplied, transcript } from './session.js';
import { following, goToConversation, holds, setOpen, sheetOpen, showPanel } from './view.js';

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
  const place = toolUseId === undefined ? 'messages~' : 'fold';
  goTo(`[data-${place}="${CSS.escape(toolUseId ?? messageId)}"]`, 'center');
}

/** Opens a compaction at its position in the conversation. */
export function showCompaction(id: string): void {
  goToConversation();
  sheetOpen.value = false;
  if (transcript.peek().compactions.at(-1)?.id !== id) setOpen('earlier-compactions', true);
  setOpen(`${id}-fold`, true);
  goTo(`#${CSS.escape(id)}`, 'start');
}

/** Opens the panel's explanation of how savings are counted. */
export function showSavings(): void {
  showPanel();
  setOpen('counted', true);
  goTo('[data-fold="counted"]', 'center');
}

/** Opens the panel's list of removed messages and pins. */
export function showGone(): void {
  showPanel();
  setOpen('gone', true);
}

function goTo(selector: string, block: ScrollLogicalPosition, frame = 0): void {
  requestAnimationFrame(() => {
    const place = document.querySelector<HTMLElement>(selector);
    // In the first frame, what opens may not be drawn yet.
    if ((!place || frame === 0) && frame < 60) {
      goTo(selector, block, frame + 1);
      return;
    }
    // The opened part makes the conversation longer, and following would scroll to its end.
    if (place?.closest('.conversation-scroll')) {
      following.value = false;
      holds.value = true;
    }
    place?.scrollIntoView({ block });
    place?.focus({ preventScroll: true });
  });
}
