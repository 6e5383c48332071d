import { answers, drawWhole, lastApplied, messagesById } from './blocks.js';
import { goToConversation } from './route.js';
import { following, setOpen } from './view.js';

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

/** Opens a compaction where it stands in the conversation. */
export function showCompaction(id: string): void {
  setOpen(id, true);
  whenThere(
    () => document.getElementById(id),
    (divider) => {
      divider.scrollIntoView({ block: 'start' });
      divider.focus({ preventScroll: true });
    },
  );
}

/** Frames until the conversation is drawn after the address has changed; what is not there then stands further up. */
const UNTIL_DRAWN = 10;

function whenThere(
  find: () => HTMLElement | null | undefined,
  then: (place: HTMLElement) => void,
  frame = 0,
): void {
  requestAnimationFrame(() => {
    const place = find();
    // What opens makes the conversation longer: it should not run off to its end.
    following.value = false;
    if (place) then(place);
    else if (frame < 60) whenThere(find, then, frame + 1);
    if (!place && frame === UNTIL_DRAWN) drawWhole();
  });
}
