import type { LanguageModelV2, LanguageModelV3, LanguageModelV3Prompt } from '@ai-sdk/provider';
import { describe, expectTypeOf, it } from 'vitest';
import type { AiSdkLanguageModel } from '../src/index.js';
import type { CallOptions } from '../src/language-model.js';

/** Version 4 as its package declares it, as far as the shapes differ from version 3. */
interface LanguageModelV4 {
  readonly specificationVersion: 'v4';
  readonly provider: string;
  readonly modelId: string;
  supportedUrls: PromiseLike<Record<string, RegExp[]>> | Record<string, RegExp[]>;
  doGenerate(options: {
    prompt: { role: 'system'; content: string }[];
    reasoning?: 'provider-default' | 'none' | 'low' | 'max';
    abortSignal?: AbortSignal;
  }): PromiseLike<{
    content: (
      | { type: 'text'; text: string; citations?: { source: object; startIndex?: number }[] }
      | { type: 'custom'; kind: `${string}.${string}` }
      | {
          type: 'file' | 'reasoning-file';
          mediaType: string;
          data: { type: 'data'; data: string } | { type: 'url'; url: URL };
        }
    )[];
    finishReason: { unified: 'stop' | 'interrupted' | 'other'; raw: string | undefined };
    usage: {
      inputTokens: {
        total: number | undefined;
        noCache: number | undefined;
        cacheRead: number | undefined;
        cacheWrite: number | undefined;
      };
      outputTokens: { total: number | undefined; text: number | undefined; reasoning: number | undefined };
    };
    warnings: { type: string }[];
  }>;
  doStream(options: { prompt: { role: 'system'; content: string }[] }): PromiseLike<{
    stream: ReadableStream<{ type: 'ping' } | { type: 'text-delta'; id: string; delta: string }>;
  }>;
}

describe('AiSdkLanguageModel', () => {
  it('is what models of versions 2, 3 and 4 are', () => {
    expectTypeOf<LanguageModelV2>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<LanguageModelV3>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<LanguageModelV4>().toExtend<AiSdkLanguageModel>();
    expectTypeOf<LanguageModelV3Prompt>().toExtend<CallOptions['prompt']>();
  });

  it('is not just anything', () => {
    expectTypeOf<{
      specificationVersion: 'v3';
      provider: string;
      modelId: string;
    }>().not.toExtend<AiSdkLanguageModel>();
    expectTypeOf<
      Omit<LanguageModelV3, 'specificationVersion'> & { specificationVersion: 'v1' }
    >().not.toExtend<AiSdkLanguageModel>();
  });
});
