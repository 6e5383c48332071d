import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';

const questionSchema = z.object({
  id: z.string(),
  kind: z.string(),
  question: z.string(),
  /** Texts that an answer holds, as the conversation has them. */
  nuggets: z.array(z.string().min(1)).min(1),
});
const fileSchema = z.object({ questions: z.array(questionSchema) });

export type Question = z.output<typeof questionSchema>;

/**
 * Reads `<conversation>.json` files with questions about conversations, by conversation.
 *
 * @throws {InvalidInputError} for a file of another form.
 */
export function readQuestions(folder: string): ReadonlyMap<string, readonly Question[]> {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort();
  return new Map(
    files.map((file) => {
      const value: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'));
      return [file.slice(0, -'.json'.length), parseWith(fileSchema, value, file).questions];
    }),
  );
}

/** UTF-16 units within which the nuggets of one answer must stand. */
const WITHIN = 600;

/** Whether all nuggets of an answer stand in a view near each other, whatever the case and the white space. */
export function holdsNuggets(view: string, nuggets: readonly string[]): boolean {
  const [first = [], ...others] = nuggets.map((nugget) => placesOf(view, normalized(nugget)));
  return first.some((place) =>
    others.every((places) => places.some((other) => Math.abs(place - other) < WITHIN)),
  );
}

/** A text as nuggets are looked for in it. */
export function normalized(text: string): string {
  return text.replaceAll(/\s+/g, ' ').toLowerCase();
}

function placesOf(text: string, part: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) places.push(at);
  return places;
}
