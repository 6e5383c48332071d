import { type ManifestEntry, type Message, toolResultsOf } from '@x/core';
import { countMessages } from '@x/core/messages';
import type { Reduce, ReplaySetting, Strategy } from '../strategy.js';

type Step = (messages: readonly Message[]) => readonly Message[];

const MASKED = '[Old tool output omitted]';

/** Sends everything, even if it exceeds the window. */
export const sendEverything: Strategy = () => async () => undefined;

/** When the trigger is reached, keeps only the last messages, without results whose call was removed. */
export function keepTail(keepMessages: number): Strategy {
  return (setting) => whenDue(setting, [tail(keepMessages)]);
}

/** When the trigger is reached, replaces all tool outputs except the newest ones with a short note. */
export function maskOutputs(keepOutputs: number): Strategy {
  return (setting) => whenDue(setting, [mask(keepOutputs)]);
}

/** Masks tool outputs first. If masking is not enough, keeps only the last messages. */
export function maskThenTail(keepOutputs: number, keepMessages: number): Strategy {
  return (setting) => whenDue(setting, [mask(keepOutputs), tail(keepMessages)]);
}

/** Runs the steps in order until the request is below the trigger. */
function whenDue({ counter, overhead, trigger }: ReplaySetting, steps: readonly Step[]): Reduce {
  const isDue = (messages: readonly Message[]) => overhead + countMessages(counter, messages) >= trigger;
  return async (messages) => {
    let reduced = messages;
    for (const step of steps) if (isDue(reduced)) reduced = step(reduced);
    const manifest = differences(messages, reduced);
    return manifest.length > 0 ? { messages: reduced, manifest } : undefined;
  };
}

function tail(keepMessages: number): Step {
  return (messages) => {
    let start = Math.max(0, messages.length - keepMessages);
    while (messages[start]?.role === 'tool') start++;
    return start < messages.length ? messages.slice(start) : messages;
  };
}

function mask(keepOutputs: number): Step {
  return (messages) => {
    const outputs = messages.filter((message) => toolResultsOf(message).length > 0);
    const old = new Set(outputs.slice(0, Math.max(0, outputs.length - keepOutputs)));
    return messages.map((message) => (old.has(message) ? masked(message) : message));
  };
}

function masked(message: Message): Message {
  let changed = false;
  const content = message.content.map((block) => {
    if (block.type !== 'tool_result') return block;
    const [only] = block.output;
    if (block.output.length === 1 && only?.type === 'text' && only.text.length <= MASKED.length) return block;
    changed = true;
    return { ...block, output: [{ type: 'text' as const, text: MASKED }] };
  });
  return changed ? { ...message, content } : message;
}

function differences(before: readonly Message[], after: readonly Message[]): readonly ManifestEntry[] {
  const kept = new Map(after.map((message) => [message.id, message]));
  return before
    .filter((message) => kept.get(message.id) !== message)
    .map(({ id }) =>
      kept.has(id)
        ? { messageId: id, fate: 'masked', stage: 'mask' }
        : { messageId: id, fate: 'dropped', stage: 'tail' },
    );
}
