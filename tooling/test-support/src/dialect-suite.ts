import { type ContentBlock, type Message, textOf, userMessage } from '@x/core';
import { pairingOf } from '@x/core/messages';
import { describe, expect, it } from 'vitest';

/** An adapter's functions to read a framework's conversation, and to write a reduced conversation back. */
export interface Dialect<Source> {
  /** Reads a conversation. The same objects must result in the same messages. */
  read(sources: readonly Source[]): readonly Message[];
  /** Writes messages that were read from `sources`, after some were removed, changed or added. */
  write(messages: readonly Message[], sources: readonly Source[]): readonly Source[];
}

export interface DialectSuiteOptions<Source> {
  readonly name: string;
  /** Opens the dialect. Called for each test. */
  open(): Dialect<Source>;
  /** Conversations by name. Together, they should contain every kind of part that the framework has. */
  readonly conversations: { readonly [name: string]: () => readonly Source[] };
  /** Returns whether the framework cannot represent the block with another text. Such blocks are kept or removed, never rewritten. */
  isFixed?(block: ContentBlock): boolean;
}

const CUT = '[cut by a stage]';

/**
 * Registers the tests that every adapter of a framework's messages must pass, with Vitest. Unchanged messages must be
 * written back as the same objects. Changed messages must keep their call pairs and all other content.
 *
 * @example
 * ```ts
 * dialectSuite({ name: 'AI SDK', open: () => dialect, conversations: { plain: () => [{ role: 'user', content: 'Hi' }] } });
 * ```
 */
export function dialectSuite<Source extends object>({
  name,
  open,
  conversations,
  isFixed,
}: DialectSuiteOptions<Source>): void {
  describe.each(Object.entries(conversations))(`Dialect of ${name}: %s`, (_, make) => {
    it('gives back unaltered messages as the very objects they were', () => {
      const [dialect, sources] = [open(), make()];
      expectSame(dialect.write(dialect.read(sources), sources), sources);
    });

    it('reads the same objects as the same messages', () => {
      const [dialect, sources] = [open(), make()];
      const first = dialect.read(sources);
      expect(dialect.read(sources).map(({ content }) => content)).toEqual(
        first.map(({ content }) => content),
      );
      expect(dialect.read(sources).map(({ id }) => id)).toEqual(first.map(({ id }) => id));
      expect(new Set(first.map(({ id }) => id)).size).toBe(first.length);
    });

    it('leaves no half of a call alone', () => {
      const { orphanResults, orphanCalls } = pairingOf(open().read(make()));
      expect([orphanResults.size, orphanCalls.size]).toEqual([0, 0]);
    });

    it('gives back what is left as the very objects they were, whichever group is removed', () => {
      const [dialect, sources] = [open(), make()];
      const messages = dialect.read(sources);
      for (const { start, end } of pairingOf(messages).groups) {
        const left = messages.filter((_, index) => index < start || index >= end);
        for (const source of dialect.write(left, sources)) expect(sources).toContain(source);
        const gone = sources.length - dialect.write(left, sources).length;
        expect(gone).toBeGreaterThan(0);
      }
    });

    it('changes of an altered message only what was altered', () => {
      const sources = make();
      for (const [at, block] of blocksOf(open().read(sources))) {
        const dialect = open();
        const messages = dialect.read(sources);
        const altered = cut(block);
        if (altered === undefined || isFixed?.(block)) continue;
        const changed = messages.map((message, index) =>
          index === at
            ? { ...message, content: message.content.map((own) => (sameBlock(own, block) ? altered : own)) }
            : message,
        );
        const written = dialect.write(changed, sources);
        const reread = open().read(written);
        expect(reread.map(({ role }) => role)).toEqual(messages.map(({ role }) => role));
        expect(pairingOf(reread).orphanResults.size).toBe(0);
        expect(textOf(reread[at] as Message)).toContain(CUT);
        for (const [index, message] of messages.entries()) {
          const others = message.content.filter((own) => index !== at || !sameBlock(own, block));
          for (const own of others) expect(reread[index]?.content).toContainEqual(own);
        }
      }
    });

    it('writes a summary in the place of what it stands for, for others to read', () => {
      const [dialect, sources] = [open(), make()];
      const messages = dialect.read(sources);
      const summary = userMessage('What was said before, in short.', { kind: 'summary' });
      const [first] = pairingOf(messages).groups;
      const written = dialect.write([summary, ...messages.slice(first?.end)], sources);
      const reread = open().read(written);
      expect(reread[0]?.role).toBe('user');
      expect(textOf(reread[0] as Message)).toContain('What was said before, in short.');
      for (const source of written.slice(1)) expect(sources).toContain(source);
    });
  });
}

function expectSame(written: readonly unknown[], sources: readonly unknown[]): void {
  expect(written).toHaveLength(sources.length);
  for (const [index, source] of written.entries()) expect(source).toBe(sources[index]);
}

function blocksOf(messages: readonly Message[]): readonly (readonly [number, ContentBlock])[] {
  return messages.flatMap(({ content }, at) => content.map((block) => [at, block] as const));
}

/** Returns the block as a stage would cut it; `undefined` for a block that stages do not rewrite. */
function cut(block: ContentBlock): ContentBlock | undefined {
  if (block.type === 'text') return { ...block, text: CUT };
  if (block.type !== 'tool_result') return undefined;
  return { ...block, output: [{ type: 'text', text: CUT }] };
}

function sameBlock(a: ContentBlock, b: ContentBlock): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
