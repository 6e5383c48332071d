import {
  InvalidInputError,
  type JsonValue,
  type Pin,
  type PinRequest,
  type ReasonScope,
  textOf,
} from '@x/core';
import type { Meter } from '../meter.js';
import { beforeLatestRequest, pinBoard, pinRole, pinsOf, roomForPins, withPins } from '../run/pins.js';
import { changeNotes, pinsIn } from './stored-state.js';
import { swapContext } from './undo.js';

/** Share of the room for pins that requested pins may use. The rest is a reserve for smaller models and longer system prompts. */
const HELD_SHARE = 0.5;

/**
 * Pins a text, which then stays word for word. Returns the existing pin if the text is already pinned.
 *
 * @param contextWindow The window of the agent's model, in tokens.
 * @throws {InvalidInputError} if the session has no such message, the text is empty, or all pins together would be too large.
 */
export async function addPin(
  scope: ReasonScope,
  what: PinRequest,
  meter: Meter,
  contextWindow: number,
): Promise<Pin> {
  const { state } = scope;
  const pins = pinsIn(state);
  const { text, ...source } = 'text' in what ? what : await messageToPin(scope, what.messageId);
  const trimmed = text.trim();
  if (trimmed === '') throw refusal('text' in what ? 'text' : 'messageId', 'has no text to keep');
  const known = pins.find((pin) => pin.text === trimmed);
  if (known) return known;
  const numbers = pins.map(({ id }) => Number(id.slice(1))).filter(Number.isInteger);
  const pin = { id: `p${Math.max(0, ...numbers) + 1}`, ...source, text: trimmed };
  const tokens = Math.round(meter.message(pinBoard([pin, ...pins])));
  const most = Math.floor(roomForPins(contextWindow, meter.frame(scope)) * HELD_SHARE);
  if (tokens > most) {
    const message = `all pins would have ${tokens} tokens together, but the window allows ${most}. Unpin others, or pin a shorter text`;
    throw refusal('', message);
  }
  change(scope, [pin, ...pins]);
  return pin;
}

async function messageToPin({ state, log }: ReasonScope, messageId: string) {
  const message = state.context.find(({ id }) => id === messageId) ?? (await log.get(messageId));
  if (message) return { messageId, role: pinRole(message), text: textOf(message) };
  const problem = `${JSON.stringify(messageId)} is not a message of this session. agent.state() lists all ids`;
  throw refusal('messageId', problem);
}

function refusal(path: string, message: string): InvalidInputError {
  return new InvalidInputError('pin', [{ path, message }]);
}

/** Removes a pin. Returns false if there is no pin with this id. */
export function removePin(scope: ReasonScope, id: string): boolean {
  const pins = pinsIn(scope.state);
  const rest = pins.filter((pin) => pin.id !== id);
  if (rest.length === pins.length) return false;
  change(scope, rest);
  return true;
}

function change({ state, emit }: ReasonScope, pins: readonly Pin[]): void {
  changeNotes(state, { pins: pins.length > 0 ? (pins as unknown as JsonValue) : undefined });
  const before = [...state.context];
  swapContext(state, before, withPins(before, pinsOf(before, pins), beforeLatestRequest));
  emit({ type: 'state.changed' });
}
