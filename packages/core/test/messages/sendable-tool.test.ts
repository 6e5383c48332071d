import { expect, it } from 'vitest';
import { sendableTool } from '../../src/messages/sendable-tool.js';

const tool = { name: 'look', description: 'Looks' };
const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };

it('leaves a sound definition as it is', () => {
  const sound = { ...tool, inputSchema: path };
  expect(sendableTool(sound)).toBe(sound);
});

it('puts the properties of alternatives into one object', () => {
  const url = { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] };
  expect(sendableTool({ ...tool, inputSchema: { anyOf: [path, url], $defs: {} } }).inputSchema).toEqual({
    type: 'object',
    $defs: {},
    properties: { path: { type: 'string' }, url: { type: 'string' } },
  });
  const both = { ...path, oneOf: [{ required: ['path'] }, { required: ['url'] }] };
  expect(sendableTool({ ...tool, inputSchema: both }).inputSchema).toEqual(path);
});

it('makes the texts of a definition well-formed', () => {
  const half = { name: 'look', description: 'Looks \ud83d', inputSchema: path };
  expect(sendableTool(half).description).toBe('Looks \ufffd');
});
