import type { ContentBlock, JsonValue, Message } from '@x/core';
import { memoize, type Redact, redactJson, redactSecrets, same, secretRedactor } from '@x/core/internal';
import * as z from 'zod/mini';

const pattern = z.union([
  z.instanceof(RegExp),
  z.pipe(
    z.string(),
    z.transform((source, { issues }) => {
      try {
        return new RegExp(source, 'g');
      } catch (error) {
        const message = `is not a valid regular expression: ${(error as Error).message}`;
        issues.push({ code: 'custom', message, input: source });
        return z.NEVER;
      }
    }),
  ),
]);

/** Validates the setting that redacts secrets from the input of summaries. */
export const redactSchema = z.union([
  z.boolean(),
  z.strictObject({
    /** Patterns applied before the built-in ones. A group named `secret` restricts the replaced text. */
    patterns: z.array(
      z.strictObject({
        /** The kind of secret, as it appears in `[redacted:kind]`. */
        kind: z.string().check(z.regex(/^[\w-]+$/, 'must be a word of letters, digits, - and _')),
        /** A regular expression. */
        pattern,
      }),
    ),
  }),
]);

/** Removes secrets from a message's texts. Returns the same message if there are none. */
export function redactMessage(message: Message, redact: Redact): Message {
  const content = redactBlocks(message.content, redact);
  return content === message.content ? message : { ...message, content };
}

/** Redacts blocks. Returns the same list if nothing was redacted, which is the usual case. */
function redactBlocks<Block extends ContentBlock>(
  blocks: readonly Block[],
  redact: Redact,
): readonly Block[] {
  return same(
    blocks,
    blocks.map((block) => redactBlock(block, redact) as Block),
  );
}

function redactBlock(block: ContentBlock, redact: Redact): ContentBlock {
  switch (block.type) {
    case 'text': {
      const text = redact(block.text);
      return text === block.text ? block : { ...block, text };
    }
    case 'tool_use': {
      const input = redacted(block.input, redact);
      return input === block.input ? block : { ...block, input };
    }
    case 'tool_result': {
      const output = redactBlocks(block.output, redact);
      return output === block.output ? block : { ...block, output };
    }
    // A summarizer never sees thinking and provider items, and sees only the names of files.
    case 'thinking':
    case 'opaque':
    case 'file':
      return block;
  }
}

/** Redacts a call's input. Omits input that is nested too deep to search. */
function redacted(input: JsonValue, redact: Redact): JsonValue {
  try {
    return redactJson(input, redact);
  } catch (error) {
    if (error instanceof RangeError) return '(nested too deep to be shown)';
    throw error;
  }
}

type Patterns = Parameters<typeof secretRedactor>[0];

const redactorOf = memoize(({ patterns }: { readonly patterns: Patterns }) => secretRedactor(patterns));

/** Returns the redactor of a setting. Always returns the same function, because caches compare it by identity. */
export function redactorFor(setting: z.output<typeof redactSchema>): Redact | undefined {
  if (setting === false) return undefined;
  return setting === true ? redactSecrets : redactorOf(setting);
}
