import { type ContentBlock, type FileBlock, toolResultMessage, userMessage } from '@x/core';
import type { FileSource } from '@x/core/messages';
import { MockLanguageModelV3 } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { fromAiSdk, type ResolveFile } from '../../src/index.js';
import { resolveFiles } from '../../src/prompt/resolve-files.js';
import { rejection } from '../support/collect.js';

const file = (source: FileSource, mediaType = 'image/png'): FileBlock => ({
  type: 'file',
  mediaType,
  source,
});
const workspace = file({ type: 'workspace', path: 'shots/a.png' });

function model(provider = 'openai.responses') {
  return new MockLanguageModelV3({
    provider,
    supportedUrls: { 'image/*': [/^https:\/\/fetched\.test\//g], 'application/pdf': [/./] },
  });
}

async function sent(block: FileBlock, resolve?: ResolveFile, provider?: string) {
  const target = { model: model(provider), reader: {}, resolve, signal: undefined };
  const [message] = await resolveFiles([userMessage([block])], target);
  const [found] = message?.content ?? [];
  return found?.type === 'file' ? found.source : found;
}

describe('resolveFiles', () => {
  it('leaves alone what the model can read', async () => {
    const never = () => {
      throw new Error('Not to be asked.');
    };
    for (const source of [
      { type: 'base64', data: 'AAAA' },
      { type: 'url', url: 'https://fetched.test/a.png' },
      { type: 'provider', provider: 'openai', id: 'file-1' },
    ] as const) {
      expect(await sent(file(source), never)).toEqual(source);
    }
    const anywhere = { type: 'url', url: 'https://else.test/a.pdf' } as const;
    expect(await sent(file(anywhere, 'application/pdf'), never)).toEqual(anywhere);
  });

  it('sends a URL that the model may not fetch when nobody else does', async () => {
    const source = { type: 'url', url: 'https://else.test/a.png' } as const;
    expect(await sent(file(source))).toEqual(source);
  });

  it('asks for everything else, once a file', async () => {
    const asked: FileBlock[] = [];
    const resolve: ResolveFile = async (block) => {
      asked.push(block);
      return { type: 'base64', data: 'BBBB' };
    };
    const foreign = file({ type: 'provider', provider: 'anthropic', id: 'f1' });
    const remote = file({ type: 'url', url: 'https://else.test/a.png' });
    const messages = [
      userMessage([workspace, workspace, foreign]),
      toolResultMessage({ id: 'c', name: 't' }, [workspace, remote]),
    ];
    const target = { model: model(), reader: {}, resolve, signal: undefined };
    const resolved = await resolveFiles(messages, target);
    expect(asked).toEqual([workspace, foreign, remote]);
    const files = resolved.flatMap(({ content }) =>
      content.flatMap((block): readonly ContentBlock[] =>
        block.type === 'tool_result' ? block.output : [block],
      ),
    );
    expect(files).toHaveLength(5);
    for (const block of files) expect(block).toMatchObject({ source: { type: 'base64', data: 'BBBB' } });
  });

  it('names the file that cannot be sent, and the way out, in its place', async () => {
    const mock = model('acme.chat');
    const warnings: unknown[] = [];
    const resolveFile = () => Promise.reject(new Error('gone'));
    const onWarning = (warning: unknown) => void warnings.push(warning);
    const failing = fromAiSdk(mock, { resolveFile, onWarning }).generate({
      messages: [userMessage('Hi'), toolResultMessage({ id: 'c', name: 't' }, [workspace])],
      tools: [],
    });
    await rejection(failing);
    const line = 'A file (image/png) cannot be shown to this model: it could not be fetched: gone';
    expect(JSON.stringify(mock.doGenerateCalls[0]?.prompt)).toContain(line);
    expect(warnings).toEqual([expect.stringContaining(line)]);

    const lineFor = async (...given: Parameters<typeof sent>) => (await sent(...given)) as { text?: string };
    const foreign = file({ type: 'provider', provider: 'acme', id: 'f1' });
    expect((await lineFor(foreign, undefined, 'acme.chat')).text).toMatch(/resolveFile/);
    expect((await lineFor(file({ type: 'url', url: 'not a url' }))).text).toMatch(/not a url/);
    expect((await lineFor(workspace, () => ({ type: 'workspace', path: 'b' }))).text).toMatch(
      /type workspace/,
    );
    expect((await lineFor(workspace)).text).toMatch(/It is in the workspace at shots\/a\.png/);
  });

  it('ends with the signal, and not with a line', async () => {
    const signal = AbortSignal.abort('enough');
    const target = { model: model(), reader: {}, resolve: () => new Promise<never>(() => {}), signal };
    expect(await rejection(resolveFiles([userMessage([workspace])], target))).toBe('enough');
  });
});
