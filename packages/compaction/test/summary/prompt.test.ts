import type { ModelResponse } from '@x/core';
import { describe, expect, it } from 'vitest';
import { summarizeOptionsSchema } from '../../src/summary/options.js';
import { buildPrompt, checkAnswer } from '../../src/summary/prompt.js';
import { meter } from '../build.js';
import { GOOD_SUMMARY, said } from '../models.js';

function verdictOn(
  answer: string | ModelResponse,
  { prompt = undefined as string | undefined, shortest = 8 } = {},
) {
  const options = summarizeOptionsSchema.parse(prompt === undefined ? {} : { prompt });
  const { sections } = buildPrompt(options, {
    transcript: '',
    nonce: 'n',
    previous: undefined,
    requests: '',
    instructions: undefined,
    appendix: undefined,
    maxTokens: 1_000,
    maxLength: 0,
  });
  const response = typeof answer === 'string' ? said(answer) : answer;
  const verdict = checkAnswer(response, {
    sections,
    shortest,
    longest: 1_250,
    count: (text) => meter.text(text),
  });
  return verdict.ok ? 'accepted' : verdict.problem;
}

it.each([
  ['thoughts in tags', `<think>\nThe login is\n</think>\n\n${GOOD_SUMMARY}`, GOOD_SUMMARY],
  ['a fence', `\`\`\`markdown\n${GOOD_SUMMARY}\n\`\`\``, GOOD_SUMMARY],
  ['a fence behind a remark', `Here it is:\n\n~~~\n${GOOD_SUMMARY}\n~~~`, `Here it is:\n\n${GOOD_SUMMARY}`],
  ['no fence around code', `${GOOD_SUMMARY}\n\`\`\`\n# go\n\`\`\``, `${GOOD_SUMMARY}\n\`\`\`\n# go\n\`\`\``],
  ['half characters', `${GOOD_SUMMARY} \uD83D`, `${GOOD_SUMMARY} \uFFFD`],
])('leaves %s out of a record', (_, answer, text) => {
  const limits = { sections: ['SUMMARY'], shortest: 1, longest: 1_250, count: () => 100 };
  expect(checkAnswer(said(answer), limits)).toEqual({ ok: true, text });
});

describe('an answer by the default prompt', () => {
  it.each([
    ['as asked for', GOOD_SUMMARY],
    [
      'numbered',
      GOOD_SUMMARY.replace('## SESSION INTENT', '## 1. SESSION INTENT').replace(
        '## SUMMARY',
        '## 2. Summary',
      ),
    ],
    [
      'on one line each',
      'SESSION INTENT: fix the login.\nSUMMARY: read it all.\nARTIFACTS: src/login.ts\nNEXT STEPS: None',
    ],
    [
      'in another order and in bold',
      '**Summary**\nRead it.\n**Next steps:**\nTests.\n**Session intent**\nLogin.\n**Artifacts**\nNone',
    ],
    [
      'in German',
      '## Ziel\nDen Login reparieren.\n## Verlauf\nGelesen, Ursache gefunden.\n## Dateien\nsrc/login.ts\n## Offen\nTests',
    ],
    [
      'in Chinese',
      '## 会话目标\n修复登录。\n## 摘要\n已找到原因。\n## 产物\nsrc/login.ts\n## 下一步\n运行测试。',
    ],
    [
      'with a list item that begins like a heading',
      '## SESSION INTENT\nFix it.\n\n## SUMMARY\n1. Artifacts (r3): built.\n\n## ARTIFACTS\nNone\n\n## NEXT STEPS\nNone',
    ],
    ['with subheadings', GOOD_SUMMARY.replace('Read the code', '### Findings\nRead the code')],
  ])('is accepted %s', (_, answer) => {
    expect(verdictOn(answer)).toBe('accepted');
  });

  it.each([
    [
      'four empty sections',
      '## SESSION INTENT\n\n## SUMMARY\n\n## ARTIFACTS\n\n## NEXT STEPS\n',
      /nothing under SESSION INTENT/,
    ],
    [
      'one empty section',
      GOOD_SUMMARY.replace('Read the code, found the cause.', '-'),
      /nothing under SUMMARY/,
    ],
    ['four empty sections in Chinese', '## 会话目标\n## 摘要\n## 产物\n## 下一步\n', /nothing under/],
    [
      'no sections',
      'All went well so far, and everything that was asked for was done.',
      /lacks SESSION INTENT/,
    ],
    ['the same word', `${'the '.repeat(400)}`, /repeats itself/],
    ['a cut-off answer', said(GOOD_SUMMARY, 'length'), /"length"/],
  ])('is refused for %s', (_, answer, problem) => {
    expect(verdictOn(answer)).toMatch(problem);
  });
});

describe('an answer by a prompt of one’s own', () => {
  const prompt = 'Sum up: {messages}';

  it('needs no sections', () => {
    expect(verdictOn('The user wants the login fixed; src/login.ts was read.', { prompt })).toBe('accepted');
  });

  it.each([
    ['I’m sorry, but I can’t help with that.', /refusal/],
    ["I'm sorry, but I can't help with that.", /refusal/],
    ['Sorry, I cannot assist with this request.', /refusal/],
    ['Es tut mir leid, dabei kann ich nicht helfen.', /refusal/],
    ['很抱歉，我无法协助处理这个请求。', /refusal/],
    ['申し訳ありませんが、対応できません。', /refusal/],
    ['.', /too short/],
    ['   ', /empty/],
    ['ha '.repeat(300), /repeats itself/],
  ])('is refused where it is "%s"', (answer, problem) => {
    expect(verdictOn(answer, { prompt })).toMatch(problem);
  });

  it('must not be shorter than what it stands for allows', () => {
    expect(verdictOn('The login was fixed.', { prompt, shortest: 30 })).toMatch(/fewer than 30/);
  });

  it('may tell of a refusal', () => {
    const answer = `The user asked for a refund of order 17. ${'The clerk said: "I am sorry, we cannot." '.repeat(3)}`;
    expect(verdictOn(answer, { prompt })).toBe('accepted');
  });
});
