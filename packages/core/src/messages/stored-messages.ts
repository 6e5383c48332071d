import { type Message, messageSchema } from './message.js';

/**
 * Messages as they were stored, checked but not rebuilt: fields of later versions survive.
 *
 * @throws {TypeError} naming the first that is none.
 */
export function asMessages(values: readonly unknown[]): readonly Message[] {
  values.forEach((value, index) => {
    const result = messageSchema.safeParse(value);
    if (!result.success) throw new TypeError(`message ${index} is not valid: ${result.error.message}`);
  });
  return values as readonly Message[];
}
