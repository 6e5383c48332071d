import type { FileBlock, ToolResultBlock } from '@x/core';
import type { Part } from '@x/core/messages';
import { optionsOf, type PromptTarget, type ToolOutput } from './prompt.js';

/** Says of an answer in several parts what the prompt has no other word for. */
const FAILED: Part = { type: 'text', text: 'The tool failed.' };

/**
 * A tool's answer: text as text, which every provider understands, and parts only where there are files or metadata to
 * keep, since some providers show the model such parts as JSON.
 */
export function toolOutput({ output, isError }: ToolResultBlock, target: PromptTarget): ToolOutput {
  const type = isError ? 'error-text' : 'text';
  const keepsMetadata = target.specificationVersion !== 'v2';
  const [first, ...others] = output;
  if (first?.type === 'text' && others.length === 0) {
    return { type, value: first.text, ...(keepsMetadata ? optionsOf(first.providerMetadata) : {}) };
  }
  const texts = output.filter((part) => part.type === 'text');
  const plain = texts.every((part) => !keepsMetadata || part.providerMetadata === undefined);
  if (texts.length === output.length && plain)
    return { type, value: texts.map((part) => part.text).join('\n') };
  const parts = output.map((part): Part => {
    if (part.type === 'file') return toolFilePart(part, target);
    return { type: 'text', text: part.text, ...(keepsMetadata ? optionsOf(part.providerMetadata) : {}) };
  });
  return { type: 'content', value: isError ? [FAILED, ...parts] : parts };
}

/** A file of a user or an assistant. */
export function filePart(file: FileBlock, target: PromptTarget): Part {
  return {
    type: 'file',
    data: dataOf(file.source, target.specificationVersion === 'v4'),
    mediaType: file.mediaType,
    ...(file.filename === undefined ? {} : { filename: file.filename }),
    ...optionsOf(file.providerMetadata),
  };
}

/** A file in a tool's answer. Version 2 knows inline files alone: of others it is told where they are. */
function toolFilePart(file: FileBlock, target: PromptTarget): Part {
  const { source, mediaType } = file;
  switch (target.specificationVersion) {
    case 'v4':
      return filePart(file, target);
    case 'v3':
      return v3ToolFile(file);
    case 'v2':
      return source.type === 'base64'
        ? { type: 'media', data: source.data, mediaType }
        : { type: 'text', text: `[${mediaType}: ${placeOf(source)}]` };
  }
}

function placeOf(source: Exclude<FileBlock['source'], { type: 'base64' }>): string {
  if (source.type === 'provider') return source.id;
  return source.type === 'url' ? source.url : source.path;
}

function v3ToolFile({ mediaType, filename, providerMetadata, source }: FileBlock): Part {
  const isImage = mediaType.startsWith('image/');
  const kind = isImage ? 'image' : 'file';
  const options = optionsOf(providerMetadata);
  switch (source.type) {
    case 'base64': {
      const named = isImage || filename === undefined ? {} : { filename };
      return { type: `${kind}-data`, data: source.data, mediaType, ...named, ...options };
    }
    case 'url':
      return { type: `${kind}-url`, url: source.url, ...(isImage ? {} : { mediaType }), ...options };
    case 'provider': {
      const fileId = { [source.provider]: source.id };
      return { type: isImage ? 'image-file-id' : 'file-id', fileId, ...options };
    }
    case 'workspace':
      return { type: 'text', text: `[${mediaType}: ${source.path}]` };
  }
}

/** The data of a file. Version 4 tags it: bytes, a URL, or the id that a provider gave the file. */
function dataOf(source: FileBlock['source'], isTagged: boolean): unknown {
  if (source.type === 'base64') return isTagged ? { type: 'data', data: source.data } : source.data;
  if (source.type === 'provider')
    return isTagged ? { type: 'reference', reference: { [source.provider]: source.id } } : source.id;
  const url = new URL(source.type === 'url' ? source.url : `file:///${encodeURI(source.path)}`);
  return isTagged ? { type: 'url', url } : url;
}
