import { assistantMessage, type ContentBlock, type JsonObject, type Message } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AiSdkLanguageModel, ContentPart } from '../../src/language-model.js';
import { rulesOf } from '../../src/prompt/provider-rules.js';
import { resolveFiles } from '../../src/prompt/resolve-files.js';
import { toPrompt } from '../../src/prompt/to-prompt.js';
import { toBlocks } from '../../src/response/to-blocks.js';
import { messages, metadata } from '../support/arbitraries.js';

interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly text?: string;
  readonly input?: unknown;
  readonly providerOptions?: JsonObject;
}

const PROVIDER = 'acme.chat';
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'file'],
  assistant: ['text', 'file', 'reasoning', 'tool-call', 'tool-result', 'custom', 'reasoning-file'],
  tool: ['tool-result', 'tool-approval-response'],
};

function target(specificationVersion: 'v2' | 'v3' | 'v4'): AiSdkLanguageModel {
  const never = () => Promise.reject(new Error('Not to be called.'));
  return {
    specificationVersion,
    provider: PROVIDER,
    modelId: 'large',
    supportedUrls: { 'image/*': [/./] },
    doGenerate: never,
    doStream: never,
  };
}

async function convert(conversation: readonly Message[], version: 'v2' | 'v3' | 'v4') {
  const model = target(version);
  const resolve = () => ({ type: 'base64', data: 'AAAA' }) as const;
  const messages = await resolveFiles(conversation, { model, reader: {}, resolve, signal: undefined });
  return toPrompt({ system: 'Be brief.', messages }, { ...model, rules: rulesOf(model) });
}

/** A text that no provider takes. */
const isBlank = (block: ContentBlock) => block.type === 'text' && block.text.trim() === '';

const versions = fc.constantFrom('v2' as const, 'v3' as const, 'v4' as const);
const isSaid = (block: ContentBlock) =>
  block.type !== 'thinking' && block.type !== 'opaque' && !isBlank(block);
const blocksOf = (conversation: readonly Message[]): readonly ContentBlock[] =>
  conversation.flatMap((message) => (message.role === 'system' ? [] : message.content));

describe('toPrompt, for any conversation', () => {
  it('never throws, changes nothing, and writes only what a prompt may hold', async () => {
    await fc.assert(
      fc.asyncProperty(messages, versions, async (conversation, version) => {
        const before = JSON.stringify(conversation);
        const prompt = await convert(conversation, version);
        expect(JSON.stringify(conversation)).toBe(before);
        expect(JSON.stringify(await convert(conversation, version))).toBe(JSON.stringify(prompt));
        const roles = prompt.map((message) => message.role);
        expect(roles[0]).toBe('system');
        expect(roles.lastIndexOf('system')).toBeLessThan(roles.findIndex((role) => role !== 'system') >>> 0);
        for (const [index, message] of prompt.entries()) {
          if (message.role === 'system') continue;
          expect(message.role === 'tool' && roles[index + 1] === 'tool').toBe(false);
          expect(message.content.length).toBeGreaterThan(0);
          for (const part of message.content) expect(ALLOWED[message.role]).toContain(part.type);
        }
      }),
    );
  });

  it('keeps every call and result, by id and in order', async () => {
    await fc.assert(
      fc.asyncProperty(messages, versions, async (conversation, version) => {
        const parts = (await convert(conversation, version)).flatMap((message): readonly Part[] =>
          message.role === 'system' ? [] : (message.content as readonly Part[]),
        );
        const expected = blocksOf(conversation).flatMap((block) => {
          if (block.type === 'tool_use') return `call ${block.id}`;
          if (block.type === 'tool_result') return `result ${block.toolUseId}`;
          if (block.type !== 'opaque' || block.provider !== PROVIDER) return [];
          const { type, toolCallId } = (block.data ?? {}) as { type?: string; toolCallId?: string };
          if (type === 'tool-call') return `call ${toolCallId}`;
          return type === 'tool-result' ? `result ${toolCallId}` : [];
        });
        const actual = parts.flatMap(({ type, toolCallId }) => {
          if (type === 'tool-call') return `call ${toolCallId}`;
          return type === 'tool-result' ? `result ${toolCallId}` : [];
        });
        // An empty id is none that a provider takes.
        const sent = expected.map((line) => line.replace(/^(call|result) $/, '$1 e3b0c4429'));
        expect(actual.map((line) => line.replace(/^(call|result) $/, '$1 e3b0c4429'))).toEqual(sent);
      }),
    );
  });

  it('hands out metadata byte for byte', async () => {
    const kinds = { text: 'text', thinking: 'reasoning', file: 'file', tool_use: 'tool-call' } as const;
    await fc.assert(
      fc.asyncProperty(messages, versions, async (conversation, version) => {
        const parts = (await convert(conversation, version)).flatMap((message): readonly Part[] =>
          message.role === 'system' ? [] : (message.content as readonly Part[]),
        );
        for (const [kind, type] of Object.entries(kinds)) {
          const whole = conversation.map((message) => ({
            ...message,
            content: message.content.slice(0, message.content.findLastIndex(isSaid) + 1),
          }));
          const given = blocksOf(whole).flatMap((block) =>
            block.type === kind && block.providerMetadata !== undefined && !isBlank(block)
              ? JSON.stringify(block.providerMetadata)
              : [],
          );
          const handedOut = parts.flatMap((part) =>
            part.type === type ? (JSON.stringify(part.providerOptions) ?? []) : [],
          );
          expect(handedOut).toEqual(expect.arrayContaining(given));
        }
      }),
    );
  });
});

const text = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 30 })
  .filter((value) => value.trim() !== '');
const attached = { providerMetadata: metadata };
/** Thoughts at the end are not sent back. */
const isSpoken = (parts: readonly ContentPart[]) => parts.at(-1)?.type !== 'reasoning';
const answer: fc.Arbitrary<readonly ContentPart[]> = fc
  .array(
    fc.oneof(
      fc.record({ type: fc.constant('text' as const), text, ...attached }),
      fc.record({ type: fc.constant('reasoning' as const), text: fc.string(), ...attached }),
      fc.record({
        type: fc.constant('tool-call' as const),
        toolCallId: fc.string({ minLength: 1 }),
        toolName: fc.string(),
        input: fc.dictionary(fc.string(), fc.jsonValue()).map((input) => JSON.stringify(input)),
        providerExecuted: fc.constantFrom(undefined, true),
        ...attached,
      }),
      fc.record({ type: fc.constant('custom' as const), kind: fc.constant('acme.item'), ...attached }),
    ),
  )
  .filter(isSpoken);

describe('an answer that is stored and sent back', () => {
  it('is what the model said, part by part', async () => {
    await fc.assert(
      fc.asyncProperty(answer, versions, async (content, version) => {
        const stored = JSON.parse(JSON.stringify(assistantMessage(toBlocks(content, PROVIDER)))) as Message;
        const [, message] = await convert([stored], version);
        const parts = (message?.content ?? []) as readonly Part[];
        expect(parts.map(({ type, toolCallId, text }) => ({ type, toolCallId, text }))).toEqual(
          content.map((part) => ({
            type: part.type,
            toolCallId: 'toolCallId' in part ? part.toolCallId : undefined,
            text: 'text' in part ? part.text : undefined,
          })),
        );
        for (const [index, part] of content.entries()) {
          expect(JSON.stringify(parts[index]?.providerOptions)).toBe(JSON.stringify(part.providerMetadata));
          if (part.type === 'tool-call') expect(parts[index]?.input).toEqual(JSON.parse(part.input));
        }
      }),
    );
  });
});
