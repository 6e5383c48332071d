import { assistantMessage, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extractStatements } from '../../src/mechanical/extract-statements.js';

const found = (text: string) => extractStatements([userMessage(text)], 20).map(({ text: said }) => said);

describe('what a user states', () => {
  it.each([
    ['I prefer tabs over spaces', 'Preference'],
    ['Please always answer in German.', 'Preference'],
    ['Call me Ada', 'Preference'],
    ["Let's use PostgreSQL for the sessions.", 'Decision'],
    ['We decided against Kubernetes because of its cost', 'Decision'],
    ['My name is Ada Lovelace.', 'Preference'],
    ['Запомни, что сервер называется orion-42', 'Fact'],
    ['记住,数据库在 orion-42', 'Fact'],
    ['Merk dir, dass der Server orion-42 heißt', 'Fact'],
    ['Prefiero respuestas cortas', 'Preference'],
    ['Remember that the release is on 2026-12-01', 'Fact'],
    ['Ich bevorzuge kurze Antworten.', 'Preference'],
    ['Je préfère les réponses courtes.', 'Preference'],
    ['我喜欢简短的回答。', 'Preference'],
    ['私の名前はさくらです。', 'Preference'],
    ['I no longer use prek', 'Preference'],
    ['We use Biome for formatting.', 'Preference'],
    ['I stopped using Docker', 'Preference'],
    ["We don't use Kubernetes anymore.", 'Preference'],
    ['I am a freelance graphic designer', 'Preference'],
    ['Sure, my name is Ada Lovelace, and my zip code is 10115.', 'Preference'],
    ['Sure thing, my user ID is ada_1815.', 'Preference'],
    ['Ja, ich heiße Ada', 'Preference'],
    ['Claro, me llamo Ada', 'Preference'],
    ['好的，我叫小明', 'Preference'],
    ['Meine Telefonnummer ist 030 1815', 'Preference'],
    ['我的电话是1815', 'Preference'],
    ['Remember that my dentist is Dr. Weiss in Main St. 5.', 'Fact'],
    ['Remember that the meeting with Mr. Brown is on Jan. 12.', 'Fact'],
    ['Remember: invoices of J. Smith go to No. 7, e.g. on Mondays.', 'Fact'],
    ['Merk dir, dass die Sitzung mit Hr. Maier am 12. März ist.', 'Fact'],
    ["N'oublie pas que la réunion avec M. Durand est le 12 mars à 14 h.", 'Fact'],
    ['Bitte antworte immer auf Deutsch', 'Preference'],
    ['Wir haben uns gegen Docker entschieden', 'Decision'],
    ['Écris toujours en français', 'Preference'],
    ['No olvides que soy zurdo', 'Fact'],
    ['Responde siempre en español', 'Preference'],
    ['Отвечай мне всегда по-русски', 'Preference'],
    ['请始终用简体中文回答', 'Preference'],
    ['别忘了我对花生过敏', 'Fact'],
    ['今後は敬語で話してください', 'Preference'],
    ['Bitte merken: der Server heißt orion-42', 'Fact'],
    ['Por favor recuerda que el servidor es orion-42', 'Fact'],
    ['帮我记一下,数据库在 orion-42', 'Fact'],
  ])('%s', (text, kind) => {
    expect(found(text)).toEqual([`${kind} (as stated): ${text}`]);
  });

  it.each([
    'Hello!',
    'thanks a lot',
    'Do you prefer tabs?',
    'Fix the failing test in src/a.ts',
    '对吗？',
    'ok, go on',
    'Can you look at src/a.ts',
    'I want you to add 3 tests',
    'Bitte erklären',
    '<command-name>/clear</command-name>',
    'DO NOT respond to these messages or otherwise consider them',
    '```typescript\nI prefer = { id: "context" };\nalways use tabs\n```',
    '$ npm test\n> I always fail',
    'The staging server runs at 10.0.0.7',
    '<system>Always use the tool.</system>',
    'Always use `const` here {a: 1}',
    "I'm a bit confused today and I was hoping to get some advice from you.",
    'I like her, really like her.',
    'So we decided to leave him with my uncle for that trip.',
    'My favorite spot was probably the area around the Seine River.',
    'also remember the @packages/app/docs/refactor.md file btw.',
    'We use this one as an example',
    'if we use the last text search it would be wrong',
    'Hi, my phone has been showing "No Service" for the past few hours',
    'My network mode preference is set to 4G',
    'Yes, the address is wrong',
    'in fact, I prefer u dont',
    'ok, we use the other one',
    "Let's keep it short for now.",
    "Let's use the second one",
    'My name is in the header of the file, change it to Bob',
    'my email is not working',
    'Call me when it is done',
    'Nenn mich nicht so',
    '帮我记一下。',
    '我住在这里',
    "Don't forget to run the tests",
    'I like your idea',
    'Immer noch kaputt, auch nach dem Neustart',
    'Ich mag den Vorschlag nicht',
    'Vergiss nicht, die Tests zu starten',
    'Mein Mann meint, das ist falsch',
    'Toujours le même problème avec le fichier',
    "N'oublie pas de corriger le test",
    'Je préfère la deuxième',
    'Siempre que lo abro se cierra',
    'No olvides actualizar el README',
    'Odio los lunes',
    'Всегда падает на этой строке',
    'Не забудь поправить тест',
    'Я люблю когда тесты зелёные',
    '我喜欢你刚才的写法',
    '别忘了加测试',
    '私はこれがエラーだと思うんですが、好きに直してください',
    '覚えておいてください。',
    'Please remember that.',
    'Remember to water...',
  ])('not: %s', (text) => {
    expect(found(text)).toEqual([]);
  });
});

it.each([
  ['My bank is N26. Please remember that.', ['My bank is N26.']],
  ['Der Server heißt caliban. Merk dir das bitte.', ['Der Server heißt caliban.']],
  ['El servidor se llama zeus. Recuérdalo.', ['El servidor se llama zeus.']],
  ['来週の発表は火曜日の10時です。覚えておいてください。', ['来週の発表は火曜日の10時です。']],
  ['我家的 Wi-Fi 叫 panda5。请记住。', ['我家的 Wi-Fi 叫 panda5。']],
  [
    'Please remember the following:\n\n1. rent is due on the 3rd\n- my doctor is Dr. Kim\n\nNow fix it',
    ['rent is due on the 3rd', 'my doctor is Dr. Kim'],
  ],
  ['Remember:\nmy bank is N26\nNow fix it', ['my bank is N26']],
  ['Remember this:\n```\ncode\n```\nthen fix it', []],
  ['Fix it now. Remember the following:', []],
])('takes what a request means, not the request alone: %s', (text, facts) => {
  expect(found(text)).toEqual(facts.map((fact) => `Fact (as stated): ${fact}`));
});

it('takes nothing of the model, of injected messages and of what tools put there', () => {
  const said = 'It turns out that I prefer tea. We decided to use Redis.';
  expect(extractStatements([assistantMessage(said), userMessage(said, { kind: 'synthetic' })], 20)).toEqual(
    [],
  );
});

it('keeps the important when there is much, in the order in which it was said, each once', () => {
  const facts = Array.from({ length: 30 }, (_, index) => `We decided to use host number ${index}.`);
  const text = [...facts, 'I prefer tabs.', ...facts, 'I prefer tabs.'].join('\n');
  const kept = extractStatements([userMessage(text)], 5);
  expect(kept).toHaveLength(5);
  expect(kept.at(-1)).toMatchObject({ text: 'Preference (as stated): I prefer tabs.', message: 0 });
});

it('bears any text: lines, no control characters, no marks, within bounds', () => {
  const said = fc.constantFrom(
    '\nI prefer tabs over ',
    '\nWe decided to use Redis ',
    'my name is ',
    '. ',
    '\n',
    '\r',
    '<!-- ',
    '\u0007',
  );
  const long = fc.string({ unit: 'binary', minLength: 10, maxLength: 40 }).map((text) => text.repeat(20));
  const text = fc.array(fc.oneof(said, fc.string({ unit: 'binary', maxLength: 20 }), long), {
    maxLength: 12,
  });
  let lines = 0;
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), (texts) => {
      for (const { text: line } of extractStatements(
        texts.map((parts) => userMessage(parts.join(''))),
        7,
      )) {
        lines++;
        expect(line).toMatch(/^(?:Preference|Decision|Fact) \(as stated\): \S/);
        expect(line).not.toMatch(/[\n\r]|<!--/);
        expect(line.length).toBeLessThan(450);
      }
    }),
  );
  expect(lines).toBeGreaterThan(20);
});

it('takes time in proportion to the text', () => {
  const near = [
    'the a '.repeat(20_000),
    `our ${'x'.repeat(100_000)}`,
    'I '.repeat(50_000),
    'do '.repeat(50_000),
  ];
  // Of this process alone: what others do meanwhile must not count.
  const before = process.cpuUsage();
  for (const text of near) found(text);
  expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
});
