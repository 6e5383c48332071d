import { answers, lastApplied, messagesById } from './blocks.js';
import { goToConversation } from './route.js';
import { setOpen } from './view.js';

/** Leads to where a message stands in the conversation: a tool's result in its call, a summary in its compaction. */
export function showMessage(messageId: string): void {
  goToConversation();
  const toolUseId = [...answers.peek()].find(([, answer]) => answer.messageId === messageId)?.[0];
  if (toolUseId !== undefined) setOpen(toolUseId, true);
  const summarizes = toolUseId === undefined && !messagesById.peek().has(messageId);
  if (summarizes && lastApplied.peek()) setOpen(lastApplied.peek()?.id ?? '', true);
  const find = () => {
    if (toolUseId !== undefined) return document.getElementById(`${toolUseId}-inside`)?.parentElement;
    if (summarizes) return document.getElementById(lastApplied.peek()?.id ?? '');
    return document.querySelector<HTMLElement>(`[data-messages~="${CSS.escape(messageId)}"]`);
  };
  whenThere(find, (place) => {
    place.scrollIntoView({ block: 'center' });
    const target = place.querySelector<HTMLElement>('.fold-line') ?? place;
    target.focus({ preventScroll: true });
  });
}

/** The conversation is drawn after the address has changed: looks at every frame for a moment. */
function whenThere(
  find: () => HTMLElement | null | undefined,
  then: (place: HTMLElement) => void,
  framesLeft = 60,
): void {
  requestAnimationFrame(() => {
    const place = find();
    if (place) then(place);
    else if (framesLeft > 0) whenThere(find, then, framesLeft - 1);
  });
}
