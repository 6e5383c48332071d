import type { FileRole } from '@x/core/messages';
import type { AiSdkLanguageModel } from '../language-model.js';

/** What a provider takes, as its documentation and its package say. */
export interface ProviderRules {
  /** Files of messages. */
  readonly files: RegExp;
  /** Files inside results of tools. Others that messages may hold follow the results in a message. */
  readonly resultFiles: RegExp;
  /** Files of the model's own answers. */
  readonly ownFiles: RegExp;
  /** Ids of tool calls. */
  readonly callId: RegExp;
  /** The most bytes of one file, by the beginning of its media type. */
  readonly mostBytes: Readonly<Record<string, number>>;
}

const NONE = /^$/;
const PICTURES = /^image\/(?:png|jpeg|gif|webp|\*)$/;
const PICTURES_AND_PDF = /^(?:image\/(?:png|jpeg|gif|webp|\*)|application\/pdf)$/;

/** Servers that nobody knows: pictures, in messages alone. */
const UNKNOWN: ProviderRules = {
  files: PICTURES,
  resultFiles: NONE,
  ownFiles: NONE,
  callId: /^.{1,64}$/s,
  mostBytes: { '': 20_000_000 },
};

/** By the name of the provider; the first that fits. */
const RULES: readonly (readonly [provider: RegExp, rules: Partial<ProviderRules>])[] = [
  [
    /anthropic/,
    {
      files: /^(?:image\/(?:png|jpeg|gif|webp|\*)|application\/pdf|text\/plain)$/,
      resultFiles: PICTURES_AND_PDF,
      callId: /^[\w-]{1,64}$/,
      // 5 MB of base64 for a picture, 32 MB for a request.
      mostBytes: { 'image/': 3_900_000, '': 23_000_000 },
    },
  ],
  [/bedrock/, { files: PICTURES_AND_PDF, resultFiles: PICTURES, callId: /^[\w-]{1,64}$/ }],
  [/\.responses$/, { files: PICTURES_AND_PDF, resultFiles: PICTURES_AND_PDF }],
  [/^(?:openai|azure)[\w-]*\.chat$/, { files: PICTURES_AND_PDF, callId: /^.{1,40}$/s }],
  [/^mistral\./, { files: PICTURES_AND_PDF, callId: /^[a-zA-Z0-9]{9}$/ }],
  [
    /^google\./,
    {
      files:
        /^(?:image\/(?:png|jpeg|webp|hei[cf]|\*)|application\/pdf|audio\/(?:wav|mpeg|aiff|aac|ogg|flac)|video\/[\w-]+)$/,
      resultFiles: /^(?:image\/(?:png|jpeg|webp)|application\/pdf)$/,
      ownFiles: PICTURES,
      // 20 MB for a request.
      mostBytes: { '': 14_000_000 },
    },
  ],
];

/** Models that hear say so in their names. */
const HEARING: Partial<ProviderRules> = {
  files: /^(?:image\/(?:png|jpeg|gif|webp|\*)|application\/pdf|audio\/(?:wav|mpeg))$/,
};

/** Finds what a model's provider takes. */
export function rulesOf({
  provider,
  modelId,
  specificationVersion,
}: Pick<AiSdkLanguageModel, 'provider' | 'modelId' | 'specificationVersion'>): ProviderRules {
  const own = RULES.find(([name]) => name.test(provider))?.[1];
  const hears = provider.endsWith('.chat') && modelId.includes('audio');
  // The package of that version writes files of results as JSON.
  const isOld = specificationVersion === 'v2' && provider.endsWith('.responses');
  return { ...UNKNOWN, ...own, ...(hears ? HEARING : {}), ...(isOld ? { resultFiles: NONE } : {}) };
}

/** Tests whether a file reaches the model, inside a result or behind it. */
export function isAccepted(rules: ProviderRules, mediaType: string, role: FileRole, bytes = 0): boolean {
  const isRead = role === 'assistant' ? rules.ownFiles : rules.files;
  const most = Object.entries(rules.mostBytes).find(([type]) => mediaType.startsWith(type))?.[1];
  if (bytes > (most ?? Number.POSITIVE_INFINITY)) return false;
  return isRead.test(mediaType) || (role === 'tool' && rules.resultFiles.test(mediaType));
}
