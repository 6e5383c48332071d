import { expect, it } from 'vitest';
import { FORMATS } from '../../src/strict/formats.js';

it.each([
  ['input_audio', { input_audio: {} }, 'messages.0: this model does not accept audio'],
  ['video', {}, 'messages.0: unknown part video'],
])('says why a chat completion with the part %s is rejected', (type, fields, message) => {
  const body = { messages: [{ role: 'user', content: [{ type, ...fields }] }] };
  expect(() => FORMATS['openai-chat'].check(body)).toThrow(message);
});
