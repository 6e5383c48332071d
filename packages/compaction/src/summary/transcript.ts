import { createHash } from 'node:crypto';
import { type ContentBlock, headOf, type Message, tailOf } from '@x/core';

/** A message as a summarizer reads it: data behind marks that its content cannot forge. */
export interface TranscriptEntry {
  readonly message: Message;
  readonly text: string;
}

/**
 * Renders messages for a summarizer: thinking left out, tool results cut to `toolResultMaxLength` UTF-16 units, tool
 * names, arguments and outcomes included. Every line that structures the transcript carries `nonce`.
 */
export function renderTranscript(
  messages: readonly Message[],
  nonce: string,
  toolResultMaxLength: number,
): readonly TranscriptEntry[] {
  return messages.map((message) => {
    const parts = message.content.flatMap((block) => renderBlock(block, nonce, toolResultMaxLength) ?? []);
    const label = message.kind === 'synthetic' ? 'injected' : message.role;
    const body = parts.length > 0 ? parts.join('\n') : '(nothing)';
    return { message, text: `[${nonce} ${label}]\n${body}` };
  });
}

/** A mark that depends on all of the content, so that no content can contain it. */
export function nonceFor(messages: readonly Message[]): string {
  const hash = createHash('sha256');
  for (const message of messages) hash.update(JSON.stringify(message.content) ?? '').update(message.id);
  return hash.digest('hex').slice(0, 16);
}

/** Takes the mark out of a text, should it have got there after all. */
export function withoutNonce(text: string, nonce: string): string {
  return text.replaceAll(nonce, '');
}

function renderBlock(block: ContentBlock, nonce: string, resultLength: number): string | undefined {
  switch (block.type) {
    case 'text':
      return withoutNonce(block.text, nonce);
    case 'thinking':
      return undefined;
    case 'file':
      return `[${nonce} file ${block.mediaType}] ${withoutNonce(block.filename ?? block.source.type, nonce)}`;
    case 'tool_use':
      return `[${nonce} call ${block.name}] ${withoutNonce(JSON.stringify(block.input) ?? '', nonce)}`;
    case 'tool_result': {
      const outcome = block.isError ? 'failed' : 'ok';
      const texts = block.output.map((part) =>
        part.type === 'text' ? part.text : `(file ${part.mediaType})`,
      );
      const full = texts.join('\n');
      const cut = withoutNonce(edges(full, resultLength), nonce);
      return `[${nonce} result of ${block.toolName}, ${outcome}, ${full.length} characters] ${cut}`;
    }
    case 'opaque':
      return `[${nonce} provider item]`;
  }
}

/** Head and tail of a text: how a tool's output begins and how it ended. */
function edges(text: string, length: number): string {
  if (text.length <= length) return text;
  const marker = ' … ';
  if (length <= marker.length * 4) return headOf(text, length);
  const room = length - marker.length;
  const tail = Math.floor(room / 2);
  return headOf(text, room - tail) + marker + tailOf(text, tail);
}
