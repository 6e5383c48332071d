import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentBlock, FileBlock, ToolOutputBlock } from '../../src/messages/content-block.js';
import {
  assistantMessage,
  type Message,
  toolResultMessage,
  userMessage,
} from '../../src/messages/message.js';
import { pairingOf } from '../../src/messages/pairing.js';
import { distinctId, sendable } from '../../src/messages/sendable.js';
import type { FileRole } from '../../src/model/model.js';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n picture', 'latin1').toString('base64');
const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64');
const picture = (mediaType: string, data: string, more: Partial<FileBlock> = {}): FileBlock => {
  return { type: 'file', mediaType, source: { type: 'base64', data }, ...more };
};

/** Reads PNG and JPEG, up to 1 000 bytes. */
const reader = {
  accepts: (mediaType: string, _role: FileRole, bytes = 0) =>
    /^image\/(?:png|jpeg)$/.test(mediaType) && bytes <= 1_000,
};

const seen = (block: ContentBlock) => sendable([userMessage([block])], reader)[0]?.content[0];

describe('files', () => {
  it.each([
    ['what the model reads', picture('image/png', PNG), picture('image/png', PNG)],
    ['another name of a type', picture('image/jpg', '/9j/AAAA'), picture('image/jpeg', '/9j/AAAA')],
    ['parameters and capitals', picture('IMAGE/PNG; x=1', PNG), picture('image/png', PNG)],
    ['what the bytes themselves tell', picture('image/jpeg', PNG), picture('image/png', PNG)],
    ['no type', picture('', PNG), picture('image/png', PNG)],
    ['line breaks', picture('image/png', PNG.replace(/(.{6})/g, '$1\r\n')), picture('image/png', PNG)],
    ['no padding', picture('image/png', PNG.replace(/=+$/, '')), picture('image/png', PNG)],
    ['a data URL', picture('image/png', `data:image/png;base64,${PNG}`), picture('image/png', PNG)],
    [
      'an address with data',
      { ...picture('image/*', ''), source: { type: 'url', url: `data:image/png;base64,${PNG}` } },
      picture('image/png', PNG),
    ],
  ] as const)('keep a picture with %s', (_, given, expected) => {
    expect(seen(given)).toEqual(expected);
  });

  it.each([
    [
      'that the model does not read',
      picture('image/svg+xml', base64('<svg/>'), { filename: 'a.svg' }),
      'a.svg (image/svg+xml, 6 bytes)',
    ],
    ['that is empty', picture('image/png', ''), 'the file is empty'],
    ['that is not base64', picture('image/png', '%%%'), 'not valid base64'],
    ['that is too large', picture('image/png', PNG.slice(0, 20) + 'A'.repeat(4_000)), 'too large'],
    [
      'elsewhere, of a kind that the model does not read',
      { ...picture('video/mp4', ''), source: { type: 'url', url: 'https://a.test/v' } },
      'https://a.test/v',
    ],
    [
      'in the workspace',
      { ...picture('application/zip', ''), source: { type: 'workspace', path: 'a.zip' } },
      'in the workspace at a.zip',
    ],
  ] as const)('become a line where there is one %s', (_, given, expected) => {
    const told: string[] = [];
    const [message] = sendable([userMessage([given as FileBlock])], reader, (line) => told.push(line));
    expect(message?.content).toEqual([{ type: 'text', text: expect.stringContaining(expected) }]);
    expect(told).toEqual([expect.stringContaining('cannot be shown to this model')]);
  });

  it.each([
    ['UTF-8', Buffer.from('1,é')],
    ['UTF-16', Buffer.from('\ufeff1,é', 'utf16le')],
    ['Western', Buffer.from('1,é', 'latin1')],
  ])('are text where they are text, in %s', (_, bytes) => {
    const block = picture('text/csv', bytes.toString('base64'), { filename: 'a.csv' });
    const metadata = { anthropic: { cacheControl: { type: 'ephemeral' } } };
    expect(seen({ ...block, providerMetadata: metadata })).toEqual({
      type: 'text',
      text: expect.stringMatching(/^\[a\.csv \(text\/csv\)\]\n\ufeff?1,é$/),
      providerMetadata: metadata,
    });
  });

  it('of a tool’s result are judged as such, and the message itself keeps its bytes', () => {
    const result = toolResultMessage({ id: 'c', name: 'shot' }, [picture('image/svg+xml', base64('<svg/>'))]);
    const before = JSON.stringify(result);
    const roles: FileRole[] = [];
    const accepts = (_: string, role: FileRole) => roles.push(role) < 0;
    const [message] = sendable([result], { accepts });
    expect(JSON.stringify(message)).toContain('cannot be shown');
    expect(new Set(roles)).toEqual(new Set(['tool']));
    expect(JSON.stringify(result)).toBe(before);
  });

  it('of a system message are judged as those of a user', () => {
    const system: Message = { ...userMessage([picture('image/png', PNG)]), role: 'system' };
    const accepts = (_: string, role: FileRole) => role === 'user';
    expect(sendable([system], { accepts })).toEqual([system]);
  });

  it('that are texts elsewhere stay, because another program fetches them', () => {
    const text = {
      ...picture('text/csv', ''),
      source: { type: 'url', url: 'https://a.test/a.csv' },
    } as const;
    expect(seen(text)).toEqual(text);
  });

  it('are reported once for each message and model', () => {
    const messages = [userMessage([picture('image/svg+xml', base64('<svg/>'))])];
    const told: string[] = [];
    const once = sendable(messages, reader, (line) => told.push(line));
    expect(sendable(messages, reader, (line) => told.push(line))).toEqual(once);
    expect(told).toHaveLength(1);
    sendable(messages, { ...reader }, (line) => told.push(line));
    expect(told).toHaveLength(2);
  });
});

describe('texts', () => {
  it('have no halves of characters, in inputs, keys and metadata either', () => {
    const call = { type: 'tool_use', id: 'c\ud83d', name: 'look', input: { 'a\ud83d': ['\ude00'] } } as const;
    const thought = { type: 'thinking', thinking: 'Hm \ud83d', signature: 'signed' } as const;
    const [message] = sendable([assistantMessage([thought, call, { type: 'text', text: 'a\ud83d' }])]);
    expect(message?.content).toEqual([
      { type: 'thinking', thinking: 'Hm \ufffd' },
      { type: 'tool_use', id: 'c\ufffd', name: 'look', input: { 'a\ufffd': ['\ufffd'] } },
      { type: 'text', text: 'a\ufffd' },
    ]);
  });
});

describe('calls of one id', () => {
  const use = { type: 'tool_use', id: 'c', name: 'look', input: {} } as const;
  const step = (id: string, ...outputs: readonly string[]): readonly Message[] => [
    assistantMessage(
      outputs.map(() => use),
      { id },
    ),
    ...outputs.map((output, index) => toolResultMessage(use, output, { id: `${id}-${index}` })),
  ];

  it('get ids of their own with their results, the same in every request', () => {
    const messages = [...step('a', '1'), ...step('b', '2', '3'), userMessage('Hi')];
    const once = sendable(messages);
    const again = sendable(JSON.parse(JSON.stringify([...messages, ...step('d', '4')])) as Message[]);
    expect(JSON.parse(JSON.stringify(again.slice(0, messages.length)))).toEqual(
      JSON.parse(JSON.stringify(once)),
    );
    const ids = once.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? block.id : [])),
    );
    expect(new Set(ids).size).toBe(3);
    expect(pairingOf(once).orphanResults.size + pairingOf(once).orphanCalls.size).toBe(0);
  });

  it('keep a result with the call of its own step, behind a call without a result', () => {
    const [open] = step('a', '1');
    const [, second, result] = sendable([open as Message, ...step('b', '2')]);
    const ids = [second, result].flatMap((message) =>
      message?.content.map((block) => ('toolUseId' in block ? block.toolUseId : 'id' in block && block.id)),
    );
    expect(new Set(ids)).toEqual(new Set([expect.stringMatching(/^c_/)]));
  });
});

it('finds an id for each of thousands of calls with the same id without counting from the start', () => {
  let looks = 0;
  class Watched extends Map<string, number> {
    override has(id: string) {
      looks++;
      return super.has(id);
    }
  }
  const taken = new Watched();
  const ids = Array.from({ length: 3_000 }, () => distinctId('call_0', 'm', taken));
  expect(new Set(ids).size).toBe(3_000);
  expect(looks).toBeLessThan(4 * ids.length);
  // An id that looks like one of ours is kept apart, too.
  const [, second = ''] = ids;
  expect([...ids, distinctId(second, 'm', taken)].filter((id) => id === second)).toHaveLength(1);
});

it('gives the same messages back where there is nothing to mend', () => {
  const messages = [userMessage('Hi'), assistantMessage([{ type: 'text', text: 'Ho 🌤' }])];
  expect(sendable(messages, reader)).toBe(messages);
});

it('makes of any conversation one that is well-formed, and stays as it is', () => {
  // Any UTF-16 units, halves of characters too.
  const unit = fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd800, max: 0xdfff }));
  const text = fc.array(unit, { maxLength: 12 }).map((units) => String.fromCharCode(...units));
  const block: fc.Arbitrary<ToolOutputBlock> = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text }),
    fc.record({
      type: fc.constant('file' as const),
      mediaType: fc.oneof(text, fc.constantFrom('image/png', 'text/plain', 'audio/wav', 'application/pdf')),
      source: fc.oneof(
        fc.record({ type: fc.constant('base64' as const), data: fc.oneof(text, fc.base64String()) }),
        fc.record({ type: fc.constant('url' as const), url: fc.oneof(text, fc.constant('data:,%e9')) }),
      ),
      filename: fc.option(text, { nil: undefined }),
    }),
  );
  const turn = fc
    .tuple(fc.constantFrom('c', 'd'), fc.array(block, { maxLength: 3 }), fc.uuid())
    .map(([id, output, own]) => [
      userMessage(output, { id: `u${own}` }),
      assistantMessage([{ type: 'tool_use', id, name: 'look', input: { id } }], { id: own }),
      toolResultMessage({ id, name: 'look' }, output, { id: `r${own}` }),
    ]);
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 4 }), (turns) => {
      const messages = turns.flat();
      const before = JSON.stringify(messages);
      const sent = sendable(messages, reader);
      expect(JSON.stringify(messages)).toBe(before);
      expect(JSON.stringify(sent)).not.toMatch(/\\ud[89a-f]/);
      expect(sendable(sent, reader)).toBe(sent);
      expect(sent.map(({ id }) => id)).toHaveLength(messages.length);
      expect(pairingOf(sent).orphanResults.size).toBe(0);
      for (const { content } of sent)
        for (const each of content)
          if (each.type === 'file')
            expect(each.source.type === 'url' || reader.accepts(each.mediaType, 'user')).toBe(true);
    }),
  );
});
