import { InvalidInputError, parseWith } from '@x/core';
import type { z } from 'zod';
import { withCamelKeys, withSnakeIssues } from './snake-case.js';

/** Reads snake_case data with a camelCase schema; what is wrong is reported in snake_case. */
export function parseFile<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  subject: string,
): z.output<Schema> {
  const data = withCamelKeys(value, subject);
  try {
    return parseWith(schema, data, subject);
  } catch (error) {
    throw InvalidInputError.isInstance(error) ? withSnakeIssues(error) : error;
  }
}
