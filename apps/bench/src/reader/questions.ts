import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';

const questionSchema = z.object({
  id: z.string(),
  kind: z.string(),
  question: z.string(),
  /** Texts that an answer contains, as quoted from the conversation. */
  nuggets: z.array(z.string().min(1)).min(1),
});
const fileSchema = z.object({ questions: z.array(questionSchema) });

export type Question = z.output<typeof questionSchema>;

/**
 * Reads questions about conversations from `<conversation>.json` files, by conversation.
 *
 * @throws {InvalidInputError} for an invalid file.
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

/** Maximum distance in UTF-16 units between the nuggets of one answer. */
const WITHIN = 600;

/** Returns whether a view contains all nuggets of an answer near each other, ignoring case and white space. */
export function holdsNuggets(view: string, nuggets: readonly string[]): boolean {
  const [first = [], ...others] = nuggets.map((nugget) => placesOf(view, normalized(nugget)));
  return first.some((place) =>
    others.every((places) => places.some((other) => Math.abs(place - other) < WITHIN)),
  );
}

/** Normalizes a text for the search of nuggets. */
export function normalized(text: string): string {
  return text.replaceAll(/\s+/g, ' ').toLowerCase();
}

function placesOf(text: string, part: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) places.push(at);
  return places;
}
