import type { FileRole } from '@x/core/messages';
import type { AiSdkLanguageModel } from '../language-model.js';

/** What a provider accepts, according to its documentation and its AI SDK package. Patterns match media types and ids. */
export interface ProviderRules {
  /** Files in user messages. */
  readonly files: RegExp;
  /** Files in tool results. Files that only match `files` are sent in a user message after the results. */
  readonly resultFiles: RegExp;
  /** Files in the model's answers. */
  readonly ownFiles: RegExp;
  /** Ids of tool calls. */
  readonly callId: RegExp;
  /** Maximum bytes of one file, by the beginning of its media type. */
  readonly mostBytes: Readonly<Record<string, number>>;
}

const NONE = /^$/;
const PICTURES = /^image\/(?:png|jpeg|gif|webp|\*)$/;
const PICTURES_AND_PDF = /^(?:image\/(?:png|jpeg|gif|webp|\*)|application\/pdf)$/;

/** For unknown providers: only images, and only in messages. */
const UNKNOWN: ProviderRules = {
  files: PICTURES,
  resultFiles: NONE,
  ownFiles: NONE,
  callId: /^.{1,64}$/s,
  mostBytes: { '': 20_000_000 },
};

/** Rules by the provider's name. The first match applies. */
const RULES: readonly (readonly [provider: RegExp, rules: Partial<ProviderRules>])[] = [
  [
    /anthropic/,
    {
      files: /^(?:image\/(?:png|jpeg|gif|webp|\*)|application\/pdf|text\/plain)$/,
      resultFiles: PICTURES_AND_PDF,
      callId: /^[\w-]{1,64}$/,
      // Anthropic's limits are 5 MB of base64 for an image, and 32 MB for a request.
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
      // Google's limit is 20 MB for a request.
      mostBytes: { '': 14_000_000 },
    },
  ],
];

/** For models that accept audio. Their names contain `audio`. */
const HEARING: Partial<ProviderRules> = {
  files: /^(?:image\/(?:png|jpeg|gif|webp|\*)|application\/pdf|audio\/(?:wav|mpeg))$/,
};

/** Returns the rules for a model. */
export function rulesOf({
  provider,
  modelId,
  specificationVersion,
}: Pick<AiSdkLanguageModel, 'provider' | 'modelId' | 'specificationVersion'>): ProviderRules {
  const own = RULES.find(([name]) => name.test(provider))?.[1];
  const hears = provider.endsWith('.chat') && modelId.includes('audio');
  // The package of this version sends files in tool results as JSON.
  const isOld = specificationVersion === 'v2' && provider.endsWith('.responses');
  return { ...UNKNOWN, ...own, ...(hears ? HEARING : {}), ...(isOld ? { resultFiles: NONE } : {}) };
}

/** Tests if the model can receive a file, also if a file of a tool result must be sent after the result. */
export function isAccepted(rules: ProviderRules, mediaType: string, role: FileRole, bytes = 0): boolean {
  const isRead = role === 'assistant' ? rules.ownFiles : rules.files;
  const most = Object.entries(rules.mostBytes).find(([type]) => mediaType.startsWith(type))?.[1];
  if (bytes > (most ?? Number.POSITIVE_INFINITY)) return false;
  return isRead.test(mediaType) || (role === 'tool' && rules.resultFiles.test(mediaType));
}
