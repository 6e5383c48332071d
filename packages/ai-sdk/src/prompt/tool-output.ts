import type { FileBlock, JsonObject, JsonValue, ToolResultBlock } from '@x/core';
import type { Part } from '@x/core/messages';
import { optionsOf, type PromptTarget, type ToolOutput } from './prompt.js';

/** Marks a failed result with several parts, because the SDK has no error type for these. */
const FAILED: Part = { type: 'text', text: 'The tool failed.' };

/**
 * Converts a tool result. A result of texts becomes one text, which every provider supports. Only a result with files, or with several
 * texts of which one has metadata, becomes a list of parts, because some providers send such a list to the model as JSON.
 */
export function toolOutput(result: ToolResultBlock, target: PromptTarget): ToolOutput {
  const own = providerOutput(result, target.providerTools?.get(result.toolName));
  if (own !== undefined) return own;
  const { isError } = result;
  // Providers reject blank texts next to other parts.
  const output = result.output.filter((part) => part.type !== 'text' || part.text.trim() !== '');
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

/** The result format of a provider-defined tool: an object with `key`. `of` converts a text that is not such an object. */
interface ProviderForm {
  readonly key: string;
  of(text: string, isError: boolean): JsonObject;
}

/**
 * Result formats of the tools that a provider defines and the application runs, by tool id in `providerTools`. The provider's package
 * accepts only JSON for these tools.
 */
const FORMS: { readonly [id: string]: ProviderForm } = {
  'openai.shell': {
    key: 'output',
    of: (text, isError) => ({
      output: [
        {
          stdout: isError ? '' : text,
          stderr: isError ? text : '',
          outcome: { type: 'exit', exitCode: isError ? 1 : 0 },
        },
      ],
    }),
  },
  'openai.local_shell': { key: 'output', of: (output) => ({ output }) },
  'openai.apply_patch': {
    key: 'status',
    of: (output, isError) => ({ status: isError ? 'failed' : 'completed', output }),
  },
  'openai.tool_search': { key: 'tools', of: () => ({ tools: [] }) },
};

/** Returns the result in the format of a provider-defined tool; `undefined` for other tools, and for results with files. */
function providerOutput(
  { output, isError }: ToolResultBlock,
  toolId: string | undefined,
): { readonly type: 'json'; readonly value: JsonValue } | undefined {
  const form = toolId === undefined ? undefined : FORMS[toolId];
  const texts = output.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (form === undefined || texts.length < output.length) return undefined;
  const text = texts.join('\n');
  return { type: 'json', value: objectIn(text, form.key) ?? form.of(text, isError) };
}

function objectIn(text: string, key: string): JsonObject | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value = JSON.parse(text) as JsonObject;
    return key in value ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Converts a file in a message of the user or the assistant. */
export function filePart(file: FileBlock, target: PromptTarget): Part {
  return {
    type: 'file',
    data: dataOf(file.source, target.specificationVersion === 'v4'),
    mediaType: file.mediaType,
    ...(file.filename === undefined ? {} : { filename: file.filename }),
    ...optionsOf(file.providerMetadata),
  };
}

/** Converts a file in a tool result. Specification 2 supports only inline files there. Other files become a text with their location. */
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

/** Returns the data of a file: base64, a URL, or a provider's file id. Specification 4 needs an object with the type of the data. */
function dataOf(source: FileBlock['source'], isTagged: boolean): unknown {
  if (source.type === 'base64') return isTagged ? { type: 'data', data: source.data } : source.data;
  if (source.type === 'provider')
    return isTagged ? { type: 'reference', reference: { [source.provider]: source.id } } : source.id;
  const url = new URL(source.type === 'url' ? source.url : `file:///${encodeURI(source.path)}`);
  return isTagged ? { type: 'url', url } : url;
}
