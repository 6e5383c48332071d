import { type FileBlock, InvalidInputError, type Message } from '@x/core';
import type { FileSource } from '@x/core/messages';
import type { AiSdkLanguageModel, SupportedUrls } from '../language-model.js';
import { providerFamily } from './prompt.js';
import type { SendableSource } from './tool-output.js';

/** Fetches a file that the model cannot: gives its bytes, or a URL that the model can fetch. */
export type ResolveFile = (
  file: FileBlock,
  signal: AbortSignal | undefined,
) => FileSource | Promise<FileSource>;

/**
 * Finds out for every file of a conversation how it is sent. Asks `resolve` for what the model cannot take as it is:
 * files in the workspace, files at another provider, and URLs that it does not fetch.
 *
 * @throws {InvalidInputError} naming a file that cannot be sent.
 */
export async function resolveFiles(
  messages: readonly Message[],
  model: AiSdkLanguageModel,
  resolve: ResolveFile | undefined,
  signal: AbortSignal | undefined,
): Promise<(file: FileBlock) => SendableSource> {
  const sources = new Map<FileBlock, SendableSource>();
  for (const { file, path } of filesOf(messages)) {
    if (!sources.has(file)) sources.set(file, await sendable(file, path, model, resolve, signal));
  }
  return (file) => {
    const source = sources.get(file);
    if (source === undefined) throw new Error('A file that was not resolved is about to be sent.');
    return source;
  };
}

function* filesOf(messages: readonly Message[]): Generator<{ file: FileBlock; path: string }> {
  for (const [index, message] of messages.entries()) {
    for (const [position, block] of message.content.entries()) {
      const path = `messages[${index}].content[${position}]`;
      if (block.type === 'file') yield { file: block, path };
      if (block.type !== 'tool_result') continue;
      for (const [part, output] of block.output.entries()) {
        if (output.type === 'file') yield { file: output, path: `${path}.output[${part}]` };
      }
    }
  }
}

async function sendable(
  file: FileBlock,
  path: string,
  model: AiSdkLanguageModel,
  resolve: ResolveFile | undefined,
  signal: AbortSignal | undefined,
): Promise<SendableSource> {
  const { source } = file;
  switch (source.type) {
    case 'base64':
      return source;
    case 'url': {
      const inline = fromDataUrl(source.url);
      if (inline !== undefined) return inline;
      const known = resolve === undefined || isFetched(source.url, file.mediaType, await model.supportedUrls);
      if (known && URL.canParse(source.url)) return source;
      return await ask(`the URL ${source.url} cannot be fetched by`);
    }
    case 'provider':
      if (takesFileId(model, source.provider)) return source;
      return await ask(`a file kept at ${source.provider} cannot be read by`);
    case 'workspace':
      return await ask(`the workspace file ${source.path} cannot be read by`);
  }

  async function ask(problem: string): Promise<SendableSource> {
    const answer = await resolve?.(file, signal);
    if (answer?.type === 'base64') return answer;
    if (answer?.type === 'url') {
      const inline = fromDataUrl(answer.url);
      if (inline !== undefined) return inline;
      if (URL.canParse(answer.url)) return answer;
    }
    const remedy =
      answer === undefined
        ? 'pass the option resolveFile, which turns it into bytes'
        : `and resolveFile answered with a ${answer.type} source; it must answer with base64 or a URL`;
    const message = `${problem} ${model.provider} ${model.modelId}; ${remedy}`;
    throw new InvalidInputError('model request', [{ path: `${path}.source`, message }]);
  }
}

/** The file ids that a model understands: version 4 its own provider's; before, only OpenAI's had a notation. */
function takesFileId(model: AiSdkLanguageModel, owner: string): boolean {
  const family = providerFamily(model.provider);
  if (owner !== family) return false;
  return model.specificationVersion === 'v4' || family === 'openai' || family.startsWith('azure');
}

function isFetched(url: string, mediaType: string, supported: SupportedUrls): boolean {
  return Object.entries(supported).some(
    ([pattern, urls]) => covers(pattern, mediaType) && urls.some((candidate) => url.search(candidate) >= 0),
  );
}

/** `*`, `image/*` and whole media types. */
function covers(pattern: string, mediaType: string): boolean {
  if (pattern === '*' || pattern === '*/*') return true;
  return pattern.endsWith('/*') ? mediaType.startsWith(pattern.slice(0, -1)) : mediaType === pattern;
}

function fromDataUrl(url: string): SendableSource | undefined {
  const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1];
  return data === undefined ? undefined : { type: 'base64', data };
}
