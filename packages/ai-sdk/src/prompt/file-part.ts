import type { FileBlock, FileSource } from '@x/core';
import { type FileData, type FilePart, optionsOf, type ToolOutputPart } from './prompt.js';
import type { PromptTarget } from './target.js';

/** A file that a model can be sent. */
export type SendableSource = Exclude<FileSource, { type: 'workspace' }>;

/** A file of a user or an assistant. */
export function filePart(file: FileBlock, source: SendableSource, target: PromptTarget): FilePart {
  return {
    type: 'file',
    data: target.specificationVersion === 'v4' ? taggedData(source) : plainData(source),
    mediaType: file.mediaType,
    ...(file.filename === undefined ? {} : { filename: file.filename }),
    ...optionsOf(file.providerMetadata),
  };
}

/** A file in a tool's answer. Version 2 knows inline files alone: of others it is told where they are. */
export function toolFilePart(file: FileBlock, source: SendableSource, target: PromptTarget): ToolOutputPart {
  switch (target.specificationVersion) {
    case 'v4':
      return filePart(file, source, target);
    case 'v3':
      return v3ToolFile(file, source);
    case 'v2':
      return source.type === 'base64'
        ? { type: 'media', data: source.data, mediaType: file.mediaType }
        : { type: 'text', text: `[${file.mediaType}: ${source.type === 'url' ? source.url : source.id}]` };
  }
}

function v3ToolFile(file: FileBlock, source: SendableSource): ToolOutputPart {
  const { mediaType, filename } = file;
  const image = mediaType.startsWith('image/');
  const options = optionsOf(file.providerMetadata);
  switch (source.type) {
    case 'base64':
      return image
        ? { type: 'image-data', data: source.data, mediaType, ...options }
        : {
            type: 'file-data',
            data: source.data,
            mediaType,
            ...(filename === undefined ? {} : { filename }),
            ...options,
          };
    case 'url':
      return image
        ? { type: 'image-url', url: source.url, ...options }
        : { type: 'file-url', url: source.url, mediaType, ...options };
    case 'provider':
      return {
        type: image ? 'image-file-id' : 'file-id',
        fileId: { [source.provider]: source.id },
        ...options,
      };
  }
}

function taggedData(source: SendableSource): FileData {
  switch (source.type) {
    case 'base64':
      return { type: 'data', data: source.data };
    case 'url':
      return { type: 'url', url: new URL(source.url) };
    case 'provider':
      return { type: 'reference', reference: { [source.provider]: source.id } };
  }
}

function plainData(source: SendableSource): FileData {
  switch (source.type) {
    case 'base64':
      return source.data;
    case 'url':
      return new URL(source.url);
    case 'provider':
      return source.id;
  }
}
