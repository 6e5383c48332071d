import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createRecall } from '@x/compaction';
import { estimateCounter, type Message, userMessage } from '@x/core';
import { countMessage } from '@x/core/messages';
import { textTable } from '@x/replay/internal';
import { holdsNuggets, normalized, type Question, readQuestions } from './reader/questions.js';
import { type Point, policies, show } from './reader/views.js';
import { readTrajectory, toMessage } from './replay/read-recordings.js';

/** The point at which a conversation is examined, by project: after about three compactions. */
const POINTS: Readonly<Record<string, { readonly window: number; readonly share: number }>> = {
  'entire-cli': { window: 32_000, share: 0.85 },
  'entire-skills': { window: 32_000, share: 0.8 },
  cipherbox: { window: 32_000, share: 0.8 },
  agentv: { window: 32_000, share: 0.85 },
  'swe-polybench-iswe': { window: 20_000, share: 0.8 },
  openhands: { window: 20_000, share: 0.8 },
  'whowhen-magentic': { window: 16_000, share: 0.85 },
  livemcpbench: { window: 10_000, share: 0.85 },
  'tau2-bench': { window: 6_000, share: 0.85 },
  'tau-bench': { window: 4_000, share: 0.85 },
};
const USUAL_POINT = { window: 32_000, share: 0.85 };

interface ReaderOptions {
  readonly recordings?: string | undefined;
  readonly questions?: string | undefined;
  readonly out?: string | undefined;
}

/**
 * Evaluates what each policy keeps at a point of recorded conversations. Writes the views for readers, and searches them for the texts
 * that answers contain: in the view itself, after one more compaction, and with what recall adds for each question.
 *
 * @param options `recordings`: a folder of `<name>.json.gz`; `questions`: a folder of `<name>.json`; `out`: the folder for views.
 */
export async function benchReader(options: ReaderOptions): Promise<void> {
  const [recordings, questions, out] = [options.recordings, options.questions, options.out].map(
    (path) => path && resolve(process.env.INIT_CWD ?? '', path),
  );
  if (!recordings || !questions) {
    console.log('Left out: it needs --recordings DIR and --questions DIR.');
    return;
  }
  if (out) mkdirSync(out, { recursive: true });
  const tallies = new Map<string, Tally>();
  const tally = (name: string) => {
    const known = tallies.get(name) ?? new Tally();
    tallies.set(name, known);
    return known;
  };
  for (const [name, asked] of readQuestions(questions)) {
    const point = pointOf(name, recordings, out);
    for (const [policy, leave] of Object.entries(policies)) {
      const view = await leave(point);
      if (!view) continue;
      if (out) writeFileSync(join(out, `${name}.${policy}.txt`), show(view));
      tally(policy).add(name, asked, () => show(view), show(view).length);
      if (policy.startsWith('record')) await addRecalled(tally, policy, name, asked, point, view);
    }
  }
  console.log(report(tallies));
}

function pointOf(name: string, folder: string, out: string | undefined): Point {
  const [project = ''] = name.split('__');
  const { window, share } = POINTS[project] ?? USUAL_POINT;
  const packed = join(folder, `${name}.json.gz`);
  const messages = readTrajectory(existsSync(packed) ? packed : join(folder, `${name}.json`))
    .map((message, index) => ({ role: message.role, message: toMessage(message, `m${index}`) }))
    .filter(({ role, message }) => role !== 'system' && message.content.length > 0)
    .map(({ message }) => message);
  let end = Math.floor(messages.length * share);
  while (messages[end]?.role === 'tool') end++;
  return { name, window, messages: messages.slice(0, end), out };
}

/** Counts answers again, with each question as the newest user message, and with what recall adds. */
async function addRecalled(
  tally: (name: string) => Tally,
  policy: string,
  name: string,
  asked: readonly Question[],
  { messages }: Point,
  view: readonly Message[],
): Promise<void> {
  const recall = createRecall(messages);
  const texts = new Map<Question, string>();
  let tokens = 0;
  for (const question of asked) {
    const reminder = await recall.remind([...view, userMessage(question.question)]);
    if (reminder) tokens += countMessage(estimateCounter, reminder);
    texts.set(question, show(reminder ? [...view, reminder] : view));
  }
  const recalled = tally(`${policy}+recall`);
  recalled.add(name, asked, (question) => texts.get(question) ?? '', show(view).length);
  recalled.tokens += tokens;
}

/** Answered questions, by conversation and by kind. */
class Tally {
  readonly conversations = new Map<string, readonly [held: number, asked: number]>();
  readonly kinds = new Map<string, readonly [held: number, asked: number]>();
  units = 0;
  /** Tokens of reminders. */
  tokens = 0;

  add(
    name: string,
    asked: readonly Question[],
    viewFor: (question: Question) => string,
    units: number,
  ): void {
    this.units += units;
    for (const question of asked) {
      const held = Number(holdsNuggets(normalized(viewFor(question)), question.nuggets));
      for (const [counts, key] of [
        [this.conversations, name],
        [this.kinds, question.kind],
      ] as const) {
        const [before, total] = counts.get(key) ?? [0, 0];
        counts.set(key, [before + held, total + 1]);
      }
    }
  }
}

function report(tallies: ReadonlyMap<string, Tally>): string {
  const all = [...tallies];
  const share = ([held, asked]: readonly [number, number] = [0, 0]) =>
    asked > 0 ? (held / asked).toFixed(3) : '–';
  const sum = ({ kinds }: Tally) =>
    [...kinds.values()].reduce<readonly [number, number]>(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
  const rows = (title: string, of: (tally: Tally) => ReadonlyMap<string, readonly [number, number]>) => {
    const keys = [...new Set(all.flatMap(([, tally]) => [...of(tally).keys()]))];
    return keys.map((key) => [
      `${title}${key.slice(0, 40)}`,
      ...all.map(([, tally]) => share(of(tally).get(key))),
    ]);
  };
  return textTable([
    ['answers whose texts are in the view', ...all.map(([name]) => name)],
    ['all', ...all.map(([, tally]) => share(sum(tally)))],
    ['held', ...all.map(([, tally]) => String(sum(tally)[0]))],
    ['characters of the views', ...all.map(([, { units }]) => String(units))],
    [
      'held per 1 000 characters',
      ...all.map(([, tally]) => ((1_000 * sum(tally)[0]) / tally.units).toFixed(3)),
    ],
    ['tokens of a reminder', ...all.map(([, tally]) => (tally.tokens / sum(tally)[1]).toFixed(0))],
    ...rows('', ({ kinds }) => kinds),
    ...rows('  ', ({ conversations }) => conversations),
  ]).join('\n');
}
