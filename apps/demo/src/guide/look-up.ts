import { REPO, stats } from './survey/facts.js';
import type { View } from './view.js';
import { act, type Decision, say, type Wish } from './view.js';

/** As in “where is openSession defined?”. */
const WHERE = /\bwhere\b.*?\b(?:is|are|do|does)\b\s+(?:the\s+|you\s+)?[`"']?([A-Za-z_$][\w$.-]*)/i;
/** A path of the repository in a question about its size. */
const SIZE = /\bhow (?:many|large|big|long)\b.*?([\w.@-]+(?:\/[\w.@-]+)+)/i;
const MAX_PLACES = 5;

/** Answers where something is defined, or nothing when that is not the question. */
export function define(view: View): Decision | undefined {
  const name = WHERE.exec(view.request)?.[1];
  return name === undefined ? undefined : findDefinition(view, name);
}

/** Answers how large a directory is by measuring it, or nothing when that is not the question. */
export function measure(view: View): Decision | undefined {
  const area = SIZE.exec(view.request)?.[1];
  return area === undefined ? undefined : measureArea(view, area.replace(/\.+$/, ''));
}

function findDefinition(view: View, name: string): Decision {
  const symbol = name.replace(/[$.-]/g, '\\$&');
  const wish: Wish = {
    name: 'grep_files',
    input: {
      pattern: `\\b(?:function|class|const|let|interface|type|def|fn|func|struct|enum) ${symbol}\\b`,
      path: REPO,
    },
  };
  const found = view.result(wish.name, wish.input);
  if (found === undefined) return act(`Looking for the definition of ${name}.`, wish);
  const places = found.isError ? [] : found.text.split('\n').filter((line) => /^\S+:\d+: /.test(line));
  if (places.length === 0) return say(`I found no definition of ${name} in this repository.`);
  const list = places.slice(0, MAX_PLACES).map((place) => {
    const [, where = '', line = ''] = /^(\S+:\d+): (.*)$/.exec(place) ?? [];
    return `- \`${where.replace(`${REPO}/`, '')}\`: \`${line}\``;
  });
  return say(`${name} is defined here:\n\n${list.join('\n')}`);
}

function measureArea(view: View, area: string): Decision | undefined {
  const fact = stats(area);
  const found = view.result(fact.wish.name, fact.wish.input);
  if (found === undefined) return act(`Measuring ${area}.`, fact.wish);
  const figures = fact.read(found.isError ? '' : found.text);
  if (!figures || figures.files === 0) return undefined;
  return say(
    `${area} has ${figures.files} files with ${figures.lines} lines, ${figures.tests} of them tests. ` +
      `The largest is ${figures.largest} with ${figures.largestLines} lines.`,
  );
}
