import type { FileBlock, Message, Model, TextBlock } from '@x/core';
import { errorText, fileLine, same, unlessAborted } from '@x/core/internal';
import type { FileRole, FileSource } from '@x/core/messages';
import type { AiSdkLanguageModel, SupportedUrls } from '../language-model.js';
import { providerFamily } from './prompt.js';

/** Loads a file that the provider cannot fetch. Returns its bytes as base64, or a URL that the provider can fetch. */
export type ResolveFile = (
  file: FileBlock,
  signal: AbortSignal | undefined,
) => FileSource | Promise<FileSource>;

/** The model that receives the files of a conversation, and how they are loaded. */
export interface FileTarget {
  readonly model: AiSdkLanguageModel;
  readonly reader: Pick<Model, 'accepts'>;
  readonly resolve: ResolveFile | undefined;
  readonly signal: AbortSignal | undefined;
  /** Called with each line of text that replaces a file. */
  readonly onReplaced?: ((line: string) => void) | undefined;
}

/**
 * Replaces file sources that the provider cannot use: files in the workspace, files of other providers, and URLs that it does not fetch.
 * Calls `resolve` once for each of these files. A file that cannot be loaded is replaced by a line with the reason.
 */
export async function resolveFiles(
  messages: readonly Message[],
  target: FileTarget,
): Promise<readonly Message[]> {
  const known = new Map<FileBlock, Promise<FileBlock | TextBlock>>();
  const resolved = async <Block>(
    block: Block | FileBlock,
    role: FileRole,
  ): Promise<Block | FileBlock | TextBlock> => {
    if (!isFile(block)) return block;
    const sent = known.get(block) ?? sendableFile(block, role, target);
    known.set(block, sent);
    return sent;
  };
  const all = await Promise.all(
    messages.map(async (message) => {
      const role = message.role === 'system' ? 'user' : message.role;
      const content = await Promise.all(
        message.content.map(async (block) => {
          if (block.type !== 'tool_result') return resolved(block, role);
          const output = await Promise.all(block.output.map((part) => resolved(part, 'tool')));
          return same(block.output, output) === block.output ? block : { ...block, output };
        }),
      );
      return same(message.content, content) === message.content ? message : { ...message, content };
    }),
  );
  return same(messages, all);
}

function isFile(block: unknown): block is FileBlock {
  return (block as FileBlock).type === 'file';
}

async function sendableFile(
  file: FileBlock,
  role: FileRole,
  { model, reader, resolve, signal, onReplaced }: FileTarget,
): Promise<FileBlock | TextBlock> {
  const { source, mediaType } = file;
  if (source.type === 'base64' || (source.type === 'provider' && takesFileId(model, source.provider)))
    return file;
  if (source.type === 'url' && URL.canParse(source.url) && reader.accepts?.(mediaType, role) !== false) {
    if (resolve === undefined || isFetched(source.url, mediaType, await model.supportedUrls)) return file;
  }
  const found = await fetched(file, resolve, signal);
  if (found.source !== undefined) return { ...file, source: found.source };
  const line = fileLine(file, found.fault, reader, role);
  onReplaced?.(line);
  return { type: 'text', text: line };
}

async function fetched(
  file: FileBlock,
  resolve: ResolveFile | undefined,
  signal: AbortSignal | undefined,
): Promise<{ readonly source: FileSource } | { readonly source?: undefined; readonly fault: string }> {
  if (resolve === undefined)
    return { fault: 'no function loads it. Set the option resolveFile of fromAiSdk.' };
  try {
    const source = await unlessAborted(Promise.resolve(resolve(file, signal)), signal);
    if (source.type === 'base64' || (source.type === 'url' && URL.canParse(source.url))) return { source };
    return { fault: `resolveFile returned a source of type ${source.type}. It must return base64 or a URL.` };
  } catch (error) {
    signal?.throwIfAborted();
    return { fault: `it could not be fetched: ${errorText(error)}` };
  }
}

/** Tests if a model accepts a provider's file ids. From specification 4 on, all models accept those of their own provider; before, only OpenAI's. */
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

/** Tests if a pattern matches a media type. Patterns are `*`, `image/*`, or a whole media type. */
function covers(pattern: string, mediaType: string): boolean {
  if (pattern === '*' || pattern === '*/*') return true;
  return pattern.endsWith('/*') ? mediaType.startsWith(pattern.slice(0, -1)) : mediaType === pattern;
}
