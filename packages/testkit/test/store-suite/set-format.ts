import { readFile, writeFile } from 'node:fs/promises';

/** Changes the format that a JSON document has. */
export async function setFormat(file: string, format: number): Promise<void> {
  const document: object = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...document, format }));
}
