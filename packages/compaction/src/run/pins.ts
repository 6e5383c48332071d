import { type JsonValue, type Message, type Pin, type PinProof, textOf, userMessage } from '@x/core';
import { isObject } from '@x/core/internal';
import { marksOf } from '../conversation/marks.js';
import { isOfSummary } from '../summary/summary-message.js';

/** All pins together may have this share of what may be sent. */
export const PINS_SHARE = 0.5;

const HEADLINE = 'Pinned parts of earlier messages, word for word. They still hold:';

/** Makes the message that holds pinned texts. Its notes keep what a configuration pinned, which nobody names again. */
export function pinBoard(pins: readonly Pin[]): Message {
  const content = [HEADLINE, ...pins.map(({ text }) => text)].map((text) => ({
    type: 'text' as const,
    text,
  }));
  const matched = pins.filter(isMatched) as unknown as JsonValue;
  return userMessage(content, { kind: 'synthetic', metadata: { '@x/compaction': { pins: matched } } });
}

/** Tests if a message holds pinned texts. */
export function isPinBoard(message: Message): boolean {
  return message.kind === 'synthetic' && Array.isArray(marksOf(message).pins);
}

const MATCHED = 'match:';

function isMatched({ id }: Pin): boolean {
  return id.startsWith(MATCHED);
}

/**
 * Collects the pins of a conversation: those that were asked for, those that an earlier message of pins holds for a configuration,
 * and the messages that hold a text of `keep.match`, the newest first.
 */
export function pinsOf(
  messages: readonly Message[],
  asked: readonly Pin[],
  match: readonly string[],
): readonly Pin[] {
  const found = new Map<string, Pin>(asked.map((pin) => [pin.text, pin]));
  const ids = new Set<string>();
  const add = (pin: Pin) => {
    // A message that was shortened has its whole text in the pin that was made before.
    if (pin.text !== '' && !found.has(pin.text) && !ids.has(pin.id)) found.set(pin.text, pin);
    ids.add(pin.id);
  };
  for (const message of messages.toReversed()) {
    if (isPinBoard(message)) {
      const { pins } = marksOf(message);
      for (const pin of Array.isArray(pins) ? pins : []) {
        if (isObject(pin) && typeof pin.id === 'string' && typeof pin.text === 'string')
          add({ id: pin.id, text: pin.text });
      }
    } else if (match.length > 0 && message.kind === undefined && message.role !== 'system') {
      const text = textOf(message);
      if (match.some((words) => text.includes(words)))
        add({ id: `${MATCHED}${message.id}`, text, messageId: message.id });
    }
  }
  return [...found.values()];
}

/** Says of each pin which message of a conversation holds its text. */
export function proofOf(pins: readonly Pin[], messages: readonly Message[]): readonly PinProof[] {
  if (pins.length === 0) return [];
  const texts = messages.map((message) => ({ id: message.id, text: textOf(message) }));
  return pins.map((pin) => {
    const heldBy = texts.find(({ text }) => text.includes(pin.text))?.id;
    return { ...pin, ...(heldBy === undefined ? {} : { heldBy }) };
  });
}

/** The pins of which a conversation does not hold the text. */
export function missingPins(pins: readonly Pin[], messages: readonly Message[]): readonly Pin[] {
  return proofOf(pins, messages).filter(({ heldBy }) => heldBy === undefined);
}

/** Takes the pins that fit into so many tokens, in their order. */
export function pinsWithin(pins: readonly Pin[], room: number, tokensOf: (message: Message) => number) {
  const taken: Pin[] = [];
  for (const pin of pins) if (tokensOf(pinBoard([...taken, pin])) <= room) taken.push(pin);
  return taken;
}

/** Puts the texts of pins that a conversation does not hold behind its summary, if there is none in front of what was said. */
export function withPins(messages: readonly Message[], pins: readonly Pin[]): readonly Message[] {
  const missing = missingPins(pins, messages);
  if (missing.length === 0) return messages;
  const summary = messages.findLastIndex(isOfSummary);
  const place = summary === -1 ? messages.findIndex(({ role }) => role !== 'system') : summary + 1;
  return messages.toSpliced(place, 0, pinBoard(missing));
}
