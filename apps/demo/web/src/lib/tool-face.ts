import type { JsonValue } from '@x/core';
import {
  BookOpen,
  Bot,
  Brain,
  FileText,
  FolderTree,
  Globe,
  ListTodo,
  type LucideIcon,
  Map as MapIcon,
  Pencil,
  Search,
  Terminal,
  Wrench,
} from 'lucide-preact';
import { plural } from './format.js';

const faces: readonly (readonly [RegExp, LucideIcon])[] = [
  [/^(list_files|glob)/, FolderTree],
  [/^(read_file|memory_get)/, FileText],
  [/(write|edit)_file/, Pencil],
  [/grep|search|query/, Search],
  [/execute|shell|bash/, Terminal],
  [/todo/, ListTodo],
  [/plan/, MapIcon],
  [/memory/, Brain],
  [/agent|task/, Bot],
  [/session/, BookOpen],
  [/fetch|http|web/, Globe],
];

/** The picture of a tool, by its name. */
export function toolIcon(name: string): LucideIcon {
  return faces.find(([pattern]) => pattern.test(name))?.[1] ?? Wrench;
}

/** The first argument of a call, in one line. */
export function firstArgument(input: JsonValue): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return short(input);
  const first = Object.values(input)[0];
  return first === undefined ? '' : short(first);
}

function short(value: JsonValue): string {
  if (Array.isArray(value)) return plural(value.length, 'item');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.slice(0, 400).replace(/\s+/g, ' ').trim();
}
