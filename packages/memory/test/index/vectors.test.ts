import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type EmbeddingConfig, MemoryIndex } from '../../src/index.js';
import { temporaryDirectory } from '../support/test-context.js';

const MEANINGS = [
  ['car', 'automobile', 'vehicle'],
  ['dog', 'hound'],
  ['pay', 'salary', 'wage'],
];

/** Stands in for a model: a dimension for each group of words that mean the same. */
function testEmbedding(options: Partial<EmbeddingConfig> = {}) {
  const embedded: string[] = [];
  const embedding: EmbeddingConfig = {
    model: 'words',
    dimensions: MEANINGS.length + 1,
    async embed(texts) {
      embedded.push(...texts);
      return texts.map((text) => [
        ...MEANINGS.map((words) => (words.some((word) => text.includes(word)) ? 1 : 0)),
        0.1,
      ]);
    },
    ...options,
  };
  return { embedding, embedded };
}

async function openIndex(embedding: EmbeddingConfig, path = ':memory:'): Promise<MemoryIndex> {
  const index = await MemoryIndex.open(path, { embedding });
  onTestFinished(() => index.close());
  return index;
}

describe('an index with vectors', () => {
  it('finds by meaning and by words, fused', async () => {
    const { embedding } = testEmbedding();
    const index = await openIndex(embedding);
    await index.indexFromString('a.md', 'the hound sleeps\nmy automobile is red\nthe car wash\nred paint');
    await index.embedded();
    const hits = await index.search('car', { limit: 2 });
    expect(hits.map(({ content }) => content)).toEqual(['the car wash', 'my automobile is red']);
    const scoped = await index.search('car', { path: 'b.md' });
    expect(scoped).toEqual([]);
  });

  it('embeds each line once, in batches, and again for another model', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const { embedding, embedded } = testEmbedding({ batchSize: 7 });
    const index = await openIndex(embedding, path);
    const lines = Array.from({ length: 30 }, (_, number) => `line ${number}`);
    await index.indexFromString('a.md', lines.join('\n'));
    await index.embedded();
    await index.search('dog');
    expect(embedded.sort()).toEqual([...lines, 'dog'].sort());
    await index.indexFromString('a.md', ['a hound', ...lines.slice(1)].join('\n'));
    await index.embedded();
    const [hit] = await index.search('dog');
    expect(hit?.content).toBe('a hound');
    expect(embedded).toHaveLength(30 + 1 + 2);
    const other = testEmbedding({ model: 'other' });
    const again = await openIndex(other.embedding, path);
    expect(await again.search('dog')).toEqual([]);
    await again.embedded();
    expect((await again.search('dog'))[0]?.content).toBe('a hound');
    expect(other.embedded).toHaveLength(30 + 2);
  });

  it('searches by words when the embedding fails, and says so', async () => {
    const errors: unknown[] = [];
    const fail = async () => Promise.reject(new Error('no quota'));
    const index = await openIndex(
      testEmbedding({ embed: fail, onError: (error) => errors.push(error) }).embedding,
    );
    await index.indexFromString('a.md', 'the car wash');
    expect(await index.search('car')).toHaveLength(1);
    expect(errors).toEqual([new Error('no quota')]);
    const strict = await openIndex(testEmbedding({ dimensions: 9 }).embedding);
    await strict.indexFromString('a.md', 'the car wash');
    await expect(strict.search('car')).rejects.toThrow('one vector of 9 numbers');
  });
});
