import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidInputError } from '@x/core';
import { expect, it, onTestFinished } from 'vitest';
import { readYaml } from '../src/read-input.js';

const many = (name: string) => `[${Array.from({ length: 10 }, () => name).join(', ')}]`;

it.each([
  ['a: &a [*a]', 'contains itself'],
  ['a: &a [*a, *a]', 'contains itself'],
  ['a: *b', 'Unresolved alias'],
  [`a: &a ${many('1')}\nb: &b ${many('*a')}\nc: &c ${many('*b')}\nd: ${many('*c')}`, 'Excessive alias count'],
])('names the file whose aliases cannot be read: %s', async (text, reason) => {
  const directory = mkdtempSync(join(tmpdir(), 'read-input-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'a.yaml');
  writeFileSync(file, text);
  const error = await readYaml(file).catch((thrown: unknown) => thrown);
  expect(InvalidInputError.isInstance(error) && error.message).toContain(`Invalid ${file}: `);
  expect(error).toHaveProperty('message', expect.stringContaining(reason));
});
