import {
  assistantMessage,
  ContextOverflowError,
  type Message,
  type Model,
  ModelError,
  type ModelRequest,
  textOf,
  userMessage,
} from '@x/core';
import { atOnce } from '@x/core/internal';
import { describe, expect, it, vi } from 'vitest';
import {
  type CompactionCapabilityConfig,
  type CompactionConfig,
  compaction,
  createCompactor,
  summarize,
} from '../../src/index.js';
import { nonceFor, renderTranscript, takeChunk } from '../../src/summary/transcript.js';
import { lines, meter, round, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf } from '../models.js';
import { scopeOf } from '../scope.js';

const render = (...given: Parameters<typeof renderTranscript>) => atOnce(renderTranscript(...given));

const run = (): Message[] => [
  userMessage('Move the shop to the new tax rules, and never touch src/legacy.'),
  ...rounds(40, () => ({ output: lines(20) })),
];

async function compact(
  model: Model,
  messages: readonly Message[] = run(),
  more: Partial<Extract<CompactionConfig, { preset?: undefined }>> = {},
) {
  return createCompactor({ model, keep: { tokens: 200 }, ...more }).compact(messages);
}

const narrativeIn = (messages: readonly Message[]) =>
  textOf(messages.find(({ kind }) => kind === 'summary') ?? []);

describe('a summarizer with a small window', () => {
  it.each([6_000, 8_000])(
    'has room to read while it uses all of its limit, with %i tokens',
    async (window) => {
      const model = modelOf(
        ({ maxOutputTokens = 0 }) => {
          const words = Array.from({ length: maxOutputTokens }, (_, at) => `fact${at}`).join(' ');
          const room = maxOutputTokens - meter.text(GOOD_SUMMARY) - 10;
          const shown = words.slice(0, Math.floor((words.length * room) / meter.text(words)));
          return GOOD_SUMMARY.replace('found the cause.', `found the cause. ${shown}`);
        },
        { contextWindow: window },
      );
      const compactor = createCompactor({ model, contextWindow: window });
      let context: readonly Message[] = [];
      let [applied, records] = [0, 0];
      for (let turn = 0; turn < 120; turn++) {
        context = [...context, userMessage(`Question ${turn}`), ...round({ output: lines(12) })];
        const outcome = await compactor.compact(context, { reason: 'proactive_budget' });
        context = outcome.messages;
        if (outcome.status !== 'applied') continue;
        applied++;
        if (outcome.message.includes('stands in')) records++;
      }
      expect(records).toBe(0);
      expect(model.requests.length).toBeLessThanOrEqual(applied * 8);
    },
  );
});

describe('what a summarizer is asked', () => {
  it('holds the request, also when only work since an earlier summary is to be told', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const first = await compact(model);
    expect(promptOf(model.requests.at(-1))).toMatch(
      /<requests-\w+>\\n1\. \(stays\) Move the shop to the new tax rules/,
    );
    const second = await compact(model, [...first.messages, ...rounds(40, () => ({ output: lines(20) }))]);
    expect(promptOf(model.requests.at(-1))).toMatch(
      /<requests-\w+>\\n1\. \(stays\) Move the shop to the new tax rules/,
    );
    const [request, summary] = second.messages;
    expect(request).toMatchObject({
      role: 'user',
      content: [{ text: expect.stringContaining('never touch src/legacy') }],
    });
    expect(summary?.kind).toBe('summary');
  });

  it('says how long the answer may be, also in characters of such a text', async () => {
    const lengthFor = async (output: string) => {
      const model = modelOf(() => GOOD_SUMMARY);
      await compact(model, [
        userMessage('go on'),
        ...rounds(40, (at) => ({ output: `${at}: ${output.repeat(40)}` })),
      ]);
      const told = /Stay below 3600 tokens \(about (\d+) characters of text like this\)/;
      return Number(told.exec(promptOf(model.requests.at(-1)))?.[1]);
    };
    expect(await lengthFor('plain words of a page ')).toBeGreaterThan(
      1.5 * (await lengthFor('订单已经发货了')),
    );
  });

  it('holds the first and the latest of many requests, within a share of its window', async () => {
    const model = modelOf(() => GOOD_SUMMARY, { contextWindow: 8_000 });
    const chat = Array.from({ length: 200 }, (_, index) => [
      userMessage(`request ${index}: ${'please '.repeat(40)}`),
      assistantMessage(`answer ${index} ${'yes '.repeat(30)}`),
    ]).flat();
    await compact(model, chat, { contextWindow: 64_000 });
    for (const asked of model.requests) {
      const shown = /<requests-\w+>(.*?)<\/requests-/s.exec(promptOf(asked))?.[1] ?? '';
      expect(shown).toContain('request 0:');
      expect(shown).toContain('request 199:');
      expect(shown).toContain('[…]');
      expect(meter.text(shown)).toBeLessThan(8_000 * 0.2);
    }
  });

  it('shows 2 000 characters of a result, errors whole, how a command ended, and edits as what they changed', () => {
    const body = (at: number) =>
      `${'same line of code\n'.repeat(60)}const rate = ${at};\n${'more code below\n'.repeat(60)}`;
    const messages = [
      ...round({ name: 'fetch', output: `${'a'.repeat(900)}MIDDLE${'b'.repeat(900)}` }),
      ...round({
        name: 'execute',
        input: { command: 'npm test' },
        output: `${'x'.repeat(5_000)}CAUSE${'y'.repeat(5_000)}\nexit 1`,
      }),
      ...round({
        name: 'edit_file',
        input: { path: 'src/tax.ts', old_string: body(19), new_string: body(21) },
      }),
    ];
    const text = render(messages, 'n0', 2_000)
      .map((entry) => entry.text)
      .join('\n');
    expect(text).toContain('MIDDLE');
    expect(text).toContain('CAUSE');
    expect(text).toContain('result of execute, failed, exit 1');
    expect(text).toContain(
      [
        'call edit_file] {"path":"src/tax.ts"}',
        '… 59 unchanged lines',
        '  same line of code',
        '- const rate = 19;',
        '+ const rate = 21;',
        '  more code below',
        '… 60 unchanged lines',
      ].join('\n'),
    );
    expect(text.match(/same line of code/g)?.length ?? 0).toBeLessThan(3);
  });

  it('holds data that has to be cut as facts, and whole lines of what else is cut', () => {
    const rows = Array.from({ length: 30 }, (_, id) => ({
      id,
      title: `a long title of row ${id}`,
      done: false,
    }));
    const output = Array.from({ length: 200 }, (_, index) => `src/file${index}.ts:${index}: match`).join(
      '\n',
    );
    const messages = [
      ...round({ name: 'list_rows', output: JSON.stringify(rows, null, 4) }),
      ...round({ name: 'rg', output }),
    ];
    const [, list, , found] = render(messages, 'n0', 1_500).map(({ text }) => text);
    expect(list).toContain('(id 0, title a long title of row 0');
    expect(list).toContain('(id 29, title a long title of row 29');
    const [, ...shown] = (found ?? '').replace(/^.*characters\] /s, '\n').split('\n');
    const gap = shown.find((line) => line.startsWith('[…')) ?? '';
    const lines = shown.filter((line) => line !== gap);
    expect(lines.length).toBeGreaterThan(20);
    expect(gap).toMatch(/^\[… \d+ lines, \d+ characters left out …\]$/);
    expect(lines.filter((line) => !/^src\/file\d+\.ts:\d+: match$/.test(line))).toEqual([]);
  });

  it('holds the lines of a cut result that the conversation used later', () => {
    const noise = (part: string) =>
      Array.from({ length: 60 }, (_, index) => `Remark ${part}${index}: nothing of this matters here.`);
    const rule = 'A quantity above 41 is rejected with E_COUPON_628.';
    const messages = [
      userMessage('Bring the module into line with its specification.'),
      ...round({ name: 'read_file', output: [...noise('a'), rule, ...noise('b')].join('\n') }),
      ...round({ name: 'edit_file', input: { path: 'a.ts', text: "throw new Error('E_COUPON_628')" } }),
    ];
    const result = render(messages, 'n0', 1_500)[2]?.text ?? '';
    expect(result).toContain(`\n[… `);
    expect(result).toContain(`\n${rule}\n`);
    expect(result).toContain('Remark a0:');
    expect(result).toContain('Remark b59:');
    expect(result.length).toBeLessThan(1_800);
    // What was used only before the result is no use of the result.
    const early = render([messages[3], messages[4], ...messages.slice(0, 3)] as Message[], 'n0', 1_500);
    expect(early.at(-1)?.text).not.toContain(rule);
  });

  it('keeps the lines around a used line, and marks no gap that is shorter than its mark', () => {
    const body = Array.from(
      { length: 80 },
      (_, index) => `  filler${index} = unrelated_value_of_the_module(${index})`,
    );
    body[39] = 'def total_of(rows):';
    body[40] = '    return sum_by_key(rows)';
    body[41] = '';
    const messages = [
      ...round({ name: 'read_file', output: body.join('\n') }),
      ...round({ name: 'edit_file', input: { path: 'a.py', text: 'sum_by_key' } }),
    ];
    const result = render(messages, 'n0', 1_200)[1]?.text ?? '';
    expect(result).toContain('def total_of(rows):\n    return sum_by_key(rows)\n\n');
    for (const [, length] of result.matchAll(/\[… (\d+) characters left out …\]/g))
      expect(Number(length)).toBeGreaterThan(60);
  });

  it('shows a short gap instead of a mark', () => {
    const line = (at: number) => `filler${at} = unrelated_value_of(${at})`;
    const body = Array.from({ length: 80 }, (_, at) => line(at));
    // Five lines behind the end of the first quarter, so that the line between counts as unused.
    body[14] = 'return sum_by_key(rows)';
    const after = [userMessage('Is sum_by_key right?')];
    const messages = round({ name: 'read_file', output: body.join('\n') });
    const result = render(messages, 'n0', 1_200, { after })[1]?.text ?? '';
    expect(result).toContain(body.slice(0, 19).join('\n'));
    for (const [, length] of result.matchAll(/\[… (\d+) characters left out …\]/g))
      expect(Number(length)).toBeGreaterThan(60);
  });

  it('breaks no line of a cut result, and marks its gaps within the line', () => {
    const output = Array.from({ length: 600 }, (_, at) => `${1_000_000 + at * 7_919}:user${at}`).join(',');
    const messages = [...round({ output }), userMessage('What about user300?')];
    const result = (render(messages, 'n0', 2_000)[1]?.text ?? '').replace(/^.*characters\] /s, '');
    expect(result).toContain(':user300,');
    expect(result).not.toContain('\n');
    const shown = result.split(/\[… \d+ characters left out …\]/);
    expect(shown).toHaveLength(3);
    for (const part of shown) expect(output).toContain(part);
  });

  it('holds of a long text that a call wrote the lines that were used later', () => {
    const finding = 'M4: the permission enum is not checked';
    const filler = (part: string) =>
      Array.from({ length: 60 }, (_, index) => `Remark ${part}${index}: nothing of this matters here.`);
    const report = [...filler('a'), finding, ...filler('b')].join('\n');
    const messages = [
      ...round({ name: 'write_file', input: { path: 'report.md', text: report } }),
      userMessage('Mend M4, the permission enum.'),
    ];
    expect(render(messages, 'n0', 1_500)[0]?.text).toContain(finding);
  });

  it('is not told how a result ended whose tool does not say', () => {
    const messages = round({ name: 'lookup', output: '503 Service Unavailable' });
    const [, result] = render(messages, 'n0', 2_000);
    expect(result?.text).toContain('[n0 result of lookup, 23 characters] 503');
  });

  it('holds the record of a summary that no model wrote, also of a provider’s own', async () => {
    const found = Array.from({ length: 20 }, (_, index) => [
      userMessage(`Look at station ${index}.`),
      assistantMessage(
        `Station QX-${100 + index} holds ${7_000 + index * 13} crates. ${'I looked well. '.repeat(20)}`,
      ),
    ]).flat();
    const byRule = await createCompactor({ model: null, keep: { tokens: 200 } }).compact(found);
    const record = byRule.messages.find(({ kind }) => kind === 'summary') as Message;
    const opaque = { type: 'opaque', provider: 'test', data: { encrypted: '…' } } as const;
    for (const earlier of [record, { ...record, content: [...record.content, opaque] }]) {
      const model = modelOf(() => GOOD_SUMMARY);
      const before = byRule.messages.map((message) => (message === record ? earlier : message));
      await compact(model, [...before, ...rounds(40, () => ({ output: lines(20) }))]);
      const told =
        /<previous-summary-\w+>(.*?)<\/previous-summary-/s.exec(promptOf(model.requests[0]))?.[1] ?? '';
      const facts = textOf(record).match(/QX-\d+ holds \d+/g) ?? [];
      expect(facts.length).toBeGreaterThan(3);
      for (const fact of facts) expect(told).toContain(fact);
    }
  });

  it('keeps the note of an earlier cut when it cuts a result again', () => {
    const note = '[… 7000 of 18319 characters are left out: they exceed the limit …]';
    const rows = (from: number) => Array.from({ length: 60 }, (_, at) => `row ${from + at} holds a value`);
    const output = [...rows(0), note, ...rows(300)].join('\n');
    const messages = round({ output }).concat(round({ say: 'Row 20 and row 340 matter.' }));
    const text = render(messages, 'n0', 1_000)
      .map(({ text }) => text)
      .join('\n');
    expect(text).toContain(note);
    expect(text).toContain('characters left out …]');
  });

  it('holds once what several results repeat', () => {
    const reminder =
      '<reminder>\nRemember to keep the todo list, to run all tests again before each commit, and never touch the frozen module.\n</reminder>';
    const messages = Array.from({ length: 19 }, (_, at) =>
      round({ output: `content ${at}\n${reminder}` }),
    ).flat();
    const told = (count: number, length = 2_000) =>
      render(messages.slice(0, 2 * count), 'n0', length)
        .map(({ text }) => text)
        .join('\n');
    const text = told(19);
    expect(text.split('never touch the frozen module')).toHaveLength(2);
    expect(text).toContain(`content 0\n${reminder}\n`);
    expect(text.split('[… as before: <reminder> Remember to keep the todo')).toHaveLength(19);
    for (let at = 0; at < 19; at++) expect(text).toContain(`content ${at}\n`);
    expect(told(2).split('never touch the frozen module')).toHaveLength(3);
    // A mark never refers to lines that were cut.
    expect(told(19, 20)).not.toContain('as before');
  });

  it('holds what several results repeat where the first of them was cut', () => {
    const rule = `Never touch the frozen module, and run all tests again before each commit. ${'Really. '.repeat(8)}`;
    const filler = (part: string) =>
      Array.from({ length: 90 }, (_, at) => `${part} ${at} of the page`).join('\n');
    const messages = [
      `${filler('head')}\n${rule}\n${filler('tail')}`,
      `Short. \n${rule}`,
      `Short again.\n${rule}`,
    ].flatMap((output) => round({ output }));
    const [, first, , second, , third] = render(messages, 'n0', 1_000).map(({ text }) => text);
    expect(first).not.toContain('frozen module');
    expect(second).toContain(rule);
    expect(third).toContain('as before: Never touch the frozen module');
  });

  it('holds a long request once, and tells which ones come after its end', async () => {
    const long = `Translate the catalog. ${'Every entry of it, one after the other. '.repeat(12)}`;
    const model = modelOf(() => GOOD_SUMMARY);
    await compact(model, [
      userMessage(long),
      ...rounds(40, () => ({ output: lines(20) })),
      userMessage('And the index, please.'),
      assistantMessage('The index is next.'),
    ]);
    const prompt = promptOf(model.requests[0]);
    expect(prompt.split('Translate the catalog.')).toHaveLength(2);
    expect(prompt).toContain('user]\\n(request 1 of the list)');
    expect(prompt).toContain('2. (stays, later) And the index, please.');
    expect(prompt).toContain('1. (stays) Translate the catalog.');
  });

  it('is told that a long request stays only if there is room for more requests', async () => {
    const long = (at: number) => `Translate page ${at}. ${`Keep term ${at} of the glossary. `.repeat(300)}`;
    const marksWith = async (count: number) => {
      const model = modelOf(() => GOOD_SUMMARY);
      const requests = Array.from({ length: count }, (_, at) => [
        userMessage(long(at)),
        assistantMessage(`Page ${at} is done.`),
      ]);
      await compact(model, [...requests.flat(), ...rounds(40, () => ({ output: lines(20) }))]);
      return promptOf(model.requests[0]).split('(stays) Translate page').length - 1;
    };
    expect(await marksWith(1)).toBe(1);
    expect(await marksWith(12)).toBe(0);
  });

  it('is not told that a request stays whose whole text an earlier summary holds', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const requests = Array.from({ length: 30 }, (_, at) => [
      userMessage(`Translate page ${at}. ${`Keep term ${at} of the glossary. `.repeat(40)}`),
      assistantMessage(`Page ${at} is done.`),
    ]);
    const more = { contextWindow: 16_000 };
    const first = await compact(
      model,
      [...requests.flat(), ...rounds(20, () => ({ output: lines(20) }))],
      more,
    );
    await compact(model, [...first.messages, ...rounds(40, () => ({ output: lines(20) }))], more);
    const prompt = promptOf(model.requests.at(-1));
    expect(prompt).toContain('characters left out');
    expect(prompt).toMatch(/\d\. Translate page/);
    expect(prompt).not.toMatch(/\(stays\) (?:(?!\\n\d+\. ).)*characters left out/);
  });

  it('keeps a hit of a search with its file, rather than the line that all hits repeat', () => {
    const hits = Array.from({ length: 80 }, (_, at) => [
      `File: src/module${at}/handler.java`,
      `* Line ${100 + at}: caller${at}.run(format)`,
      '* Kind of this usage: method_invocation',
      '',
    ]).flat();
    const after = [userMessage('Which method_invocation of caller41 and caller62 has the wrong format?')];
    const shown = render(round({ output: hits.join('\n') }), 'n0', 1_500, { after })[1]?.text ?? '';
    for (const at of [41, 62])
      expect(shown).toContain(
        `File: src/module${at}/handler.java\n* Line ${100 + at}: caller${at}.run(format)`,
      );
    expect(shown.split('Kind of this usage').length).toBeLessThan(20);
  });

  it('is written in steps, between which other tasks run', () => {
    const work = renderTranscript(
      rounds(50, () => ({ output: lines(200) })),
      'n0',
      2_000,
    );
    let steps = 1;
    while (!work.next().done) steps++;
    // Each of the 100 messages is read once, and rendered once.
    expect(steps).toBeGreaterThanOrEqual(200);
  });

  it('holds what a later message uses of paragraphs that are longer than the room for an end', () => {
    const paragraph = (at: number) => `${`paragraph ${at} of the page `.repeat(90)}costs ${at * 37} euros.`;
    const page = Array.from({ length: 20 }, (_, at) => paragraph(at)).join('\n\n');
    const after = [userMessage('Does it really say "costs 407 euros"?')];
    const shown = render(round({ output: page }), 'n0', 2_000, { after })[1]?.text ?? '';
    expect(shown).toContain('costs 407 euros.');
    expect(shown).toContain('paragraph 0 of the page');
    expect(shown.length).toBeGreaterThan(1_000);
  });

  it('holds what a later message uses', async () => {
    const rule = 'A quantity above 41 is rejected with E_COUPON_628.';
    const output = [lines(200), rule, lines(200)].join('\n');
    const after = [userMessage('Where does E_COUPON_628 come from?')];
    const shown = (later: readonly Message[]) =>
      render(round({ output }), 'n0', 1_500, { after: later })[1]?.text;
    expect(shown(after)).toContain(rule);
    expect(shown([])).not.toContain(rule);
  });

  it('holds results whole where all of them fit its window, and cut where two requests would be needed', async () => {
    const results = rounds(12, (index) => ({
      output: `${'a '.repeat(1_500)}MIDDLE${index}${' b'.repeat(1_500)}`,
    }));
    const chat = [userMessage('Read all twelve.'), ...results];
    const shown = async (window: number) => {
      const model = modelOf(() => GOOD_SUMMARY, { contextWindow: window });
      await compact(model, chat);
      return { requests: model.requests.length, prompt: promptOf(model.requests[0]) };
    };
    const large = await shown(100_000);
    expect(large).toMatchObject({ requests: 1, prompt: expect.stringContaining('MIDDLE0') });
    const small = await shown(24_000);
    expect(small.requests).toBe(1);
    expect(small.prompt).not.toContain('MIDDLE0');
  });

  it('tells what may be left out first', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    await compact(model);
    expect(promptOf(model.requests[0])).toContain('leave out first');
  });
});

describe('a summarizer that fails', () => {
  it('is asked again when the failure passes, and its narrative is used', async () => {
    const model = modelOf((_, index) => {
      if (index < 2) throw new ModelError('busy', { retryable: true, retryAfterMs: 1 });
      return GOOD_SUMMARY;
    });
    const outcome = await compact(model);
    expect(model.requests).toHaveLength(3);
    expect(narrativeIn(outcome.messages)).toContain('Read the code, found the cause.');
  });

  it.each([
    [undefined, 'returned no content'],
    ['A summary', 'returned no content'],
    [{ content: 'A summary' }, 'returned content that is not a list of blocks'],
    [{ content: [{ type: 'text', text: GOOD_SUMMARY }], stopReason: 'end' }, 'returned no finishReason'],
  ])('that answers %j is told what an answer is, and asked once', async (answer, fault) => {
    const generate = vi.fn(async () => answer);
    const model = { id: 'own', generate } as unknown as Model;
    const { status, message: reason } = await compact(model);
    expect(status).toBe('applied');
    expect(reason).toContain(`Model own ${fault}`);
    expect(reason).toContain("must resolve with { content: [{ type: 'text', text }], finishReason: 'stop' }");
    expect(generate).toHaveBeenCalledTimes(1);
  });

  it('is not asked again when it fails for good', async () => {
    const model = modelOf(() => Promise.reject(new ModelError('no such model', { retryable: false })));
    const outcome = await compact(model);
    expect(model.requests).toHaveLength(1);
    expect(outcome.status).toBe('applied');
    expect(outcome.message).toContain('no such model');
  });

  it('is asked to stay a little below its limit of output tokens', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    await compact(model);
    const limit = model.requests[0]?.maxOutputTokens ?? 0;
    expect(limit).toBeLessThanOrEqual(4_000);
    expect(promptOf(model.requests[0])).toContain(`Stay below ${Math.floor(limit * 0.9)} tokens`);
  });

  it('has the usage of the parts that it wrote reported', async () => {
    const model = modelOf((_, index) => (index < 2 ? GOOD_SUMMARY : Promise.reject(new Error('down'))));
    const outcome = await compact(model, run(), {
      stages: [summarize({ chunks: 3, keep: { tokens: 200 } })],
    });
    expect(model.requests).toHaveLength(3);
    expect(outcome.usage).toEqual({ inputTokens: 20, outputTokens: 10 });
  });
});

describe('a summarizer that overflows', () => {
  const large = () => [userMessage('go'), ...rounds(40, (at) => ({ output: lines(60, `line ${at},`) }))];
  const aura = (model: Model, messages: readonly Message[] = large()) => {
    const own = { toolResultLength: 200, truncationRetries: [150, 100, 50, 0], keep: { tokens: 200 } };
    return compact(model, messages, { stages: [summarize(own)] });
  };
  const shown = (request: ModelRequest) => promptOf(request).length;

  it('is shown ever shorter results of the whole, and parts of it only once that helps no more', async () => {
    const model = modelOf((_, index) => {
      if (index < 4) throw new ContextOverflowError();
      return GOOD_SUMMARY;
    });
    const outcome = await aura(model);
    // 200, 150, 100, 50, then none: nothing is read in parts.
    expect(model.requests).toHaveLength(5);
    const sizes = model.requests.map(shown);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(5);
    expect(narrativeIn(outcome.messages)).toContain('Read the code');
  });

  it('that overflows at anything costs a call for each length and each halving', async () => {
    const model = modelOf(() => Promise.reject(new ContextOverflowError()));
    const outcome = await aura(model);
    expect(model.requests).toHaveLength(7);
    expect(outcome.status).toBe('applied');
    expect(outcome.message).toContain('overflowed');
  });

  it('is not asked again with a transcript that is no shorter', async () => {
    const model = modelOf(() => Promise.reject(new ContextOverflowError()));
    await aura(model, [userMessage('go'), ...rounds(40, () => ({ output: 'ok', say: lines(20) }))]);
    // Halved twice; at 0 alone these results are shorter.
    expect(model.requests).toHaveLength(4);
  });
});

describe('an answer that is too long, twice', () => {
  it('is shortened in each of its sections, and costs no third call', async () => {
    const words = Array.from({ length: 4_000 }, (_, index) => (index * 7_919).toString(36)).join(' ');
    const long = GOOD_SUMMARY.replace('Read the code', `Read the code. ${words}`);
    const model = modelOf(() => long);
    const outcome = await compact(model, run(), { summary: { maxTokens: 500 } });
    expect(model.requests).toHaveLength(2);
    const narrative = narrativeIn(outcome.messages);
    for (const kept of ['Read the code', '[… cut …]', 'NEXT STEPS', 'Run the tests']) {
      expect(narrative).toContain(kept);
    }
    expect(meter.text(narrative)).toBeLessThan(meter.text(long) / 4);
  });
});

describe('an answer that is always too long', () => {
  const large = () => [userMessage('go'), ...rounds(40, (at) => ({ output: lines(60, `line ${at},`) }))];
  const words = Array.from({ length: 4_000 }, (_, index) => (index * 7_919).toString(36)).join(' ');
  const long = GOOD_SUMMARY.replace('Read the code', `Read the code. ${words}`);
  const own = { toolResultLength: 200, truncationRetries: [150, 100, 50, 0], keep: { tokens: 200 } };
  const sizesOf = async (retryTooLong: boolean) => {
    const model = modelOf(() => long);
    const outcome = await compact(model, large(), {
      stages: [summarize({ ...own, maxTokens: 500, retryTooLong })],
    });
    expect(narrativeIn(outcome.messages)).toContain('Read the code');
    return model.requests.map((request) => promptOf(request).length);
  };

  it('is asked for with ever shorter results where retryTooLong says so, then once more, and shortened', async () => {
    const sizes = await sizesOf(true);
    // 200, 150, 100, 50, none; the last time with what is wrong about it.
    expect(sizes).toHaveLength(6);
    expect(sizes.slice(0, 5)).toEqual(sizes.slice(0, 5).toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(6);
    expect(await sizesOf(false)).toHaveLength(2);
  });
});

describe('chunks', () => {
  it('cost what there is to read: every entry is looked at a fixed number of times', () => {
    const looksAt = (rows: number) => {
      const messages = rounds(rows, () => ({ output: 'done' }));
      let looks = 0;
      const entries = new Proxy(render(messages, atOnce(nonceFor(messages)), 2_000), {
        get(target, key, receiver) {
          if (typeof key === 'string' && /^\d+$/.test(key)) looks++;
          return Reflect.get(target, key, receiver) as unknown;
        },
      });
      let chunks = 0;
      for (let done = 0; done < entries.length; chunks++)
        done = takeChunk(entries, done, entries.length, 500, meter);
      expect(chunks).toBeGreaterThan(rows / 20);
      return looks;
    };
    expect(looksAt(2_000) / looksAt(500)).toBeLessThan(5);
  });
});

describe('twenty compactions in a row', () => {
  it('keep every requirement that is open, whatever the model forgets', async () => {
    const forgetful = modelOf(() => GOOD_SUMMARY.replace('Fix the login.', 'Something about the shop.'));
    const capability = compaction({ model: forgetful, contextWindow: 32_000 });
    const orders = ['Never push to main.', 'Use tabs, never spaces.', 'All prices are integers in cents.'];
    const scope = scopeOf(orders.map((order) => userMessage(order)));
    for (let turn = 0; turn < 20; turn++) {
      scope.state
        .contextMutable()
        .push(...rounds(12, () => ({ output: lines(60) })), assistantMessage(`Step ${turn} is done.`));
      const outcome = await capability.compact?.(scope, {});
      expect(outcome?.status).toBe('applied');
      const view = scope.state.context.map((message) => textOf(message)).join('\n');
      for (const order of orders) expect(view).toContain(order);
    }
  });
});

describe('the agent’s own model', () => {
  const session = (
    model: Model,
    more: Partial<Extract<CompactionCapabilityConfig, { preset?: undefined }>> = {},
  ) => {
    const tools = [{ name: 'read_file', description: 'Reads', inputSchema: { type: 'object' } }] as const;
    const scope = scopeOf([...run(), assistantMessage('done so far')], {
      model,
      tools,
      system: 'You fix bugs.',
    });
    return { scope, tools, capability: compaction({ keep: { tokens: 200 }, ...more }) };
  };

  it('is asked behind the conversation as it was sent, which its cache holds', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const { scope, tools, capability } = session(model);
    const before = [...scope.state.context];
    expect((await capability.compact?.(scope, {}))?.status).toBe('applied');
    const [asked] = model.requests;
    expect(model.requests).toHaveLength(1);
    expect(asked).toMatchObject({ system: 'You fix bugs.', tools });
    const prefix = asked?.messages.slice(0, -1) ?? [];
    expect(prefix.length).toBeGreaterThan(60);
    for (const [index, message] of prefix.entries()) expect(message).toBe(before[index]);
    expect(textOf(asked?.messages.at(-1)?.content ?? [])).toMatch(
      /^The conversation pauses here.+SESSION INTENT/s,
    );
    expect(narrativeIn(scope.state.context)).toContain('Read the code, found the cause.');
  });

  it('is asked for the same behind the conversation as with a transcript', async () => {
    const questionOf = async (
      model: Model & { readonly requests: readonly ModelRequest[] },
      own: boolean,
    ) => {
      const { scope, capability } = session(
        modelOf(() => ''),
        own ? {} : { model },
      );
      const long = `Keep the words of this rule. ${'They are many. '.repeat(200)}`;
      scope.state.contextMutable().unshift(userMessage(long));
      scope.state.contextMutable().push(userMessage('And the index.'));
      await capability.compact?.(own ? { ...scope, model } : scope, { instructions: 'Keep the port.' });
      const text = textOf(model.requests[0]?.messages.at(-1)?.content ?? []);
      return text
        .replace(/^The conversation pauses here.*\n\n/, '')
        .replace(/\n\n<transcript-.*<\/transcript-\w+>/s, '')
        .replace(/ \(about \d+ characters of text like this\)/, '')
        .replaceAll(/-[\da-f]{16}>/g, '>')
        .replace(long, '(the rule)')
        .replace(/Keep the words of this rule\..*$/m, '(the rule)');
    };
    const behind = await questionOf(
      modelOf(() => GOOD_SUMMARY),
      true,
    );
    expect(behind).toBe(
      await questionOf(
        modelOf(() => GOOD_SUMMARY),
        false,
      ),
    );
    expect(behind).toContain('1. (stays) (the rule)\n2. (stays) Move the shop');
    expect(behind).toContain('(stays, later) And the index.');
  });

  it('reads a transcript where it has no room for more, is another than the reader, or has overflowed', async () => {
    const small = modelOf(() => GOOD_SUMMARY, { contextWindow: 6_000 });
    const one = session(small);
    await one.capability.compact?.(one.scope, {});
    const dedicated = modelOf(() => GOOD_SUMMARY);
    const two = session(
      modelOf(() => GOOD_SUMMARY),
      { model: dedicated },
    );
    await two.capability.compact?.(two.scope, {});
    for (const { requests } of [small, dedicated]) {
      expect(requests.length).toBeGreaterThan(0);
      for (const request of requests) expect(promptOf(request)).toContain('<transcript-');
    }
  });

  it('reads a transcript where it refuses the conversation for an item of its provider', async () => {
    const isSealed = (request: ModelRequest) =>
      request.messages.some(({ content }) => content.some(({ type }) => type === 'opaque'));
    const model = modelOf((request) => {
      if (isSealed(request)) throw new ModelError('Unknown item', { status: 400 });
      return GOOD_SUMMARY;
    });
    const { scope, capability } = session(model);
    const item = { type: 'opaque', provider: 'acme', data: 'sealed' } as const;
    scope.state.contextMutable().splice(1, 0, assistantMessage([item, { type: 'text', text: 'Looking.' }]));
    expect((await capability.compact?.(scope, {}))?.status).toBe('applied');
    expect(model.requests.map(isSealed)).toEqual([true, false]);
    expect(narrativeIn(scope.state.context)).toContain('Read the code, found the cause.');
  });

  it('is refused an answer that goes on with the work', async () => {
    const call = { type: 'tool_use', id: 'c', name: 'read_file', input: {} } as const;
    const model = modelOf(() => ({ content: [call], finishReason: 'tool-calls' }));
    const { scope, capability } = session(model);
    const outcome = await capability.compact?.(scope, {});
    expect(model.requests).toHaveLength(2);
    expect(outcome).toMatchObject({ status: 'applied', message: expect.stringContaining('called a tool') });
  });
});
