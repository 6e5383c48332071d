import { type FileBlock, InvalidInputError, toolResultMessage, userMessage } from '@x/core';
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

async function sent(block: FileBlock, resolve?: ResolveFile, provider?: string): Promise<FileSource> {
  const sourceOf = await resolveFiles([userMessage([block])], model(provider), resolve, undefined);
  return sourceOf(block);
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

  it('reads bytes out of data URLs', async () => {
    const source = { type: 'url', url: 'data:image/png;base64,AAAA' } as const;
    expect(await sent(file(source))).toEqual({ type: 'base64', data: 'AAAA' });
  });

  it('sends a URL that the model may not fetch when nobody else does', async () => {
    const source = { type: 'url', url: 'https://else.test/a.png' } as const;
    expect(await sent(file(source))).toEqual(source);
  });

  it('asks for everything else, once a file', async () => {
    const asked: FileBlock[] = [];
    const resolve: ResolveFile = async (block) => {
      asked.push(block);
      return { type: 'url', url: 'data:image/png;base64,BBBB' };
    };
    const foreign = file({ type: 'provider', provider: 'anthropic', id: 'f1' });
    const remote = file({ type: 'url', url: 'https://else.test/a.png' });
    const messages = [
      userMessage([workspace, workspace, foreign]),
      toolResultMessage({ id: 'c', name: 't' }, [workspace, remote]),
    ];
    const sourceOf = await resolveFiles(messages, model(), resolve, undefined);
    expect(asked).toEqual([workspace, foreign, remote]);
    for (const block of asked) expect(sourceOf(block)).toEqual({ type: 'base64', data: 'BBBB' });
  });

  it('names the file that cannot be sent, and the way out', async () => {
    const failing = fromAiSdk(model('acme.chat')).generate({
      messages: [userMessage('Hi'), toolResultMessage({ id: 'c', name: 't' }, [workspace])],
      tools: [],
    });
    const error = await rejection(failing);
    expect(InvalidInputError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ issues: [{ path: 'messages[1].content[0].output[0].source' }] });
    expect(String(error)).toMatch(/shots\/a\.png .*acme\.chat.*resolveFile/);

    const foreign = file({ type: 'provider', provider: 'acme', id: 'f1' });
    expect(String(await rejection(sent(foreign, undefined, 'acme.chat')))).toMatch(/resolveFile/);
    expect(String(await rejection(sent(file({ type: 'url', url: 'not a url' }))))).toMatch(/not a url/);
    expect(String(await rejection(sent(workspace, () => ({ type: 'workspace', path: 'b' }))))).toMatch(
      /workspace source/,
    );
  });
});
