import type { FileBlock, Message, Model, TextBlock } from '@x/core';
import { errorText, fileLine, same, unlessAborted } from '@x/core/internal';
import type { FileRole, FileSource } from '@x/core/messages';
import type { AiSdkLanguageModel, SupportedUrls } from '../language-model.js';
import { providerFamily } from './prompt.js';

/** Fetches a file that the model cannot: gives its bytes, or a URL that the model can fetch. */
export type ResolveFile = (
  file: FileBlock,
  signal: AbortSignal | undefined,
) => FileSource | Promise<FileSource>;

/** How files of a conversation are sent. */
export interface FileTarget {
  readonly model: AiSdkLanguageModel;
  readonly reader: Pick<Model, 'accepts'>;
  readonly resolve: ResolveFile | undefined;
  readonly signal: AbortSignal | undefined;
  /** Receives each line that takes the place of a file. */
  readonly onReplaced?: ((line: string) => void) | undefined;
}

/**
 * Gives every file of a conversation a source that can be sent. Asks `resolve`, once for a file, for what the model cannot take as it is:
 * files in the workspace, files at another provider, and URLs that it does not fetch. What cannot be had becomes a line that says so.
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
    return { fault: `resolveFile gave a source of type ${source.type}, and not base64 or a URL.` };
  } catch (error) {
    signal?.throwIfAborted();
    return { fault: `it could not be fetched: ${errorText(error)}` };
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
