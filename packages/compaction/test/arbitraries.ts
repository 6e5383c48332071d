import {
  assistantMessage,
  type ContentBlock,
  type FileBlock,
  type Message,
  systemMessage,
  type ToolOutputBlock,
  type ToolUseBlock,
  toolResultMessage,
  userMessage,
} from '@x/core';
import fc from 'fast-check';

/** Prose, code, long lines, emoji, lone surrogates' neighbors: whatever a conversation may hold. */
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.lorem({ maxCount: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.constantFrom('', ' ', 'src/app/main.ts', 'Error: ENOENT /etc/x', '🦊'.repeat(300), '字'.repeat(400)),
  fc.lorem({ maxCount: 30 }).map((line) => `${line}\n`.repeat(20)),
);

/** Few, so that the same bytes come again and again. */
const file: fc.Arbitrary<FileBlock> = fc.oneof(
  fc.record({
    type: fc.constant('file' as const),
    mediaType: fc.constantFrom('image/png', 'application/pdf'),
    source: fc.record({
      type: fc.constant('base64' as const),
      data: fc.constantFrom('AAAA', 'iVBORw0KGgo='.repeat(200)),
    }),
  }),
  fc.record({
    type: fc.constant('file' as const),
    mediaType: fc.constant('image/jpeg'),
    filename: fc.constantFrom('login.jpg', '登录🦊.jpg'),
    source: fc.constant({ type: 'url' as const, url: 'https://example.com/login.jpg' }),
  }),
);
const maybeFile = fc.option(file, { nil: undefined, freq: 4 });

interface Round {
  readonly calls: number;
  readonly text: string;
  readonly thinking: boolean;
  readonly argument: string;
  readonly outputs: readonly string[];
  readonly failed: boolean;
  /** Printed by the first call besides its text. */
  readonly file: FileBlock | undefined;
}

const round: fc.Arbitrary<Round> = fc.record({
  calls: fc.integer({ min: 0, max: 4 }),
  text,
  thinking: fc.boolean(),
  argument: fc.oneof(
    text,
    text.map((short) => short.repeat(20)),
  ),
  outputs: fc.array(
    fc.oneof(
      text,
      text.map((short) => short.repeat(10)),
    ),
    { minLength: 4, maxLength: 4 },
  ),
  failed: fc.boolean(),
  file: maybeFile,
});

type Part =
  | { readonly type: 'synthetic'; readonly text: string }
  | { readonly type: 'system'; readonly text: string }
  | { readonly type: 'user'; readonly text: string; readonly file: FileBlock | undefined }
  | { readonly type: 'round'; readonly round: Round };

const part: fc.Arbitrary<Part> = fc.oneof(
  { weight: 3, arbitrary: round.map((value): Part => ({ type: 'round', round: value })) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('user' as const), text, file: maybeFile }),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('remember the rules', 'be brief')
      .map((value): Part => ({ type: 'synthetic', text: value })),
  },
  { weight: 1, arbitrary: text.map((value): Part => ({ type: 'system', text: value })) },
);

/** A conversation as an agent has it: every call answered, but perhaps those of the last message. */
export const conversation: fc.Arbitrary<readonly Message[]> = fc
  .record({ parts: fc.array(part, { minLength: 1, maxLength: 40 }), open: fc.boolean() })
  .map(({ parts, open }) => build(parts, open));

/** The same with messages missing here and there, so that calls and results stand alone. */
export const damagedConversation: fc.Arbitrary<readonly Message[]> = fc
  .record({ messages: conversation, missing: fc.array(fc.nat(), { maxLength: 8 }) })
  .map(({ messages, missing }) => {
    const gone = new Set(missing.map((index) => index % messages.length));
    return messages.filter((_, index) => !gone.has(index));
  });

let serial = 0;

function build(parts: readonly Part[], open: boolean): readonly Message[] {
  const messages: Message[] = [];
  for (const item of parts) {
    if (item.type === 'round') messages.push(...roundMessages(item.round));
    else if (item.type === 'system') messages.push(systemMessage(item.text, options()));
    else if (item.type === 'synthetic')
      messages.push(userMessage(item.text, { ...options(), kind: 'synthetic' }));
    else {
      const said = item.text || 'go on';
      messages.push(userMessage(item.file ? [{ type: 'text', text: said }, item.file] : said, options()));
    }
  }
  if (open) messages.push(assistantMessage([callBlock(`open${serial++}`, 'src/open.ts')], options()));
  return messages;
}

function roundMessages({
  calls,
  text: said,
  thinking,
  argument,
  outputs,
  failed,
  file: shown,
}: Round): Message[] {
  const blocks: ContentBlock[] = [];
  if (thinking) blocks.push({ type: 'thinking', thinking: 'hm', signature: 'signed' });
  blocks.push({ type: 'text', text: said });
  // Ids are used again, as some providers do.
  const uses = Array.from({ length: calls }, (_, index) => callBlock(`call_${index}`, argument));
  return [
    assistantMessage([...blocks, ...uses], options()),
    ...uses.map((call, index) =>
      toolResultMessage(call, outputOf(outputs[index] ?? '', index === 0 ? shown : undefined), {
        ...options(),
        isError: failed && index === 0,
      }),
    ),
  ];
}

function outputOf(printed: string, shown: FileBlock | undefined): string | ToolOutputBlock[] {
  return shown ? [{ type: 'text', text: printed }, shown] : printed;
}

function callBlock(id: string, argument: string): ToolUseBlock {
  return {
    type: 'tool_use',
    id,
    name: 'write_file',
    input: { path: 'src/a.ts', content: argument, lines: 3 },
  };
}

function options() {
  return { id: `m${serial++}`, createdAt: '2026-01-01T00:00:00.000Z' };
}
