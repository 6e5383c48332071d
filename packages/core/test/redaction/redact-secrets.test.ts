import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { redactSecrets as redact, redactJson, rememberSecrets, secretRedactor } from '../../src/internal.js';

const many = (unit: string, count: number) => unit.repeat(count);

// Put together here, so that nothing in this file looks like a secret to a scanner.
const secrets: Record<string, string> = {
  'api-key': `sk-${many('aB3', 12)}`,
  'aws-key': `AKIA${many('ABCD', 3)}1234`,
  'github-token': `ghp_${many('aB3x', 9)}`,
  'gitlab-token': `glpat-${many('aB3x', 5)}`,
  'slack-token': `xoxb-${many('123456-', 4)}abc`,
  jwt: `eyJ${many('aB3', 6)}.eyJ${many('aB3', 8)}.${many('x_Y-', 8)}`,
  'private-key': `-----BEGIN RSA PRIVATE KEY-----\n${many('MIIabc+/', 20)}\n-----END RSA PRIVATE KEY-----`,
};

describe('redact', () => {
  for (const [kind, secret] of Object.entries(secrets)) {
    it(`takes out a ${kind}, wherever it stands, and leaves what is around it`, () => {
      expect(redact(`use ${secret} here`)).toBe(`use [redacted:${kind}] here`);
      expect(redact(JSON.stringify({ text: secret }))).toBe(`{"text":"[redacted:${kind}]"}`);
    });
  }

  it.each([
    ['password=correcthorse', 'password=[redacted:secret]'],
    ['DB_PASSWORD: hunter2 # old', 'DB_PASSWORD: [redacted:secret] # old'],
    ['"api_key": "no digits at all"', '"api_key": "[redacted:secret]"'],
    ['token: 9f8e7d6c, next', 'token: [redacted:secret], next'],
    ['{\\"secret\\":\\"abc\\"}', '{\\"secret\\":\\"[redacted:secret]\\"}'],
    ['postgres://app:pa:ss/word@db:5432/x', 'postgres://app:[redacted:credentials]@db:5432/x'],
    ['redis://:hunter@cache', 'redis://:[redacted:credentials]@cache'],
    ['postgres://app:a@SECRET@db:5432/x', 'postgres://app:[redacted:credentials]@db:5432/x'],
    ['https://u:p@host/@scope/pkg', 'https://u:[redacted:credentials]@host/@scope/pkg'],
    ['ENCRYPTION_KEY=a1b2c3', 'ENCRYPTION_KEY=[redacted:secret]'],
    ['signing-key: a1b2c3', 'signing-key: [redacted:secret]'],
    ['SECRET_KEY_BASE=a1b2c3', 'SECRET_KEY_BASE=[redacted:secret]'],
    [`bearer ${many('abc1', 6)}`, 'bearer [redacted:authorization]'],
    ['basic internationalization', 'basic internationalization'],
    ['tool --password hunter2 -v', 'tool --password [redacted:secret] -v'],
    [
      'tool --api-key "abc" --client-secret def',
      'tool --api-key "[redacted:secret]" --client-secret [redacted:secret]',
    ],
    ['curl -s -u ada:hunter2 https://x', 'curl -s -u ada:[redacted:secret] https://x'],
    ['curl --user "ada:hunter2" https://x', 'curl --user "ada:[redacted:secret]" https://x'],
    ['mysql -uroot -phunter2 db', 'mysql -uroot -p[redacted:secret] db'],
    ['redis-cli -h x -a hunter2 ping', 'redis-cli -h x -a [redacted:secret] ping'],
    ['sshpass -p hunter2 ssh x', 'sshpass -p [redacted:secret] ssh x'],
    ['DB_PASS=hunter2', 'DB_PASS=[redacted:secret]'],
    ['export REDISCLI_AUTH="hunter2"', 'export REDISCLI_AUTH="[redacted:secret]"'],
    ['<db:password>hunter2</db:password>', '<db:password>[redacted:secret]</db:password>'],
    ['Cookie: sid=abcdef; theme=dark', 'Cookie: [redacted:cookie]'],
    ['AccountKey=abc1abc1abc1;X=1', 'AccountKey=[redacted:secret];X=1'],
    ['https://x/?a=1&sig=abcdef%3D&b=2', 'https://x/?a=1&sig=[redacted:secret]&b=2'],
    ['https://x/?key=abcdefgh', 'https://x/?key=[redacted:secret]'],
    ['machine x login ada password hunter2', 'machine x login ada password [redacted:secret]'],
    ['"auth": "YWRhOmh1bnRlcjI="', '"auth": "[redacted:secret]"'],
    ['{"password":"ab\\"REST","a":"b"}', '{"password":"[redacted:secret]","a":"b"}'],
    ['{\\"password\\":\\"ab\\\\\\"REST\\",', '{\\"password\\":\\"[redacted:secret]\\",'],
    ["password: 'it''sREST'", "password: '[redacted:secret]'"],
    [`DB_PASSWORD="ab'REST"`, 'DB_PASSWORD="[redacted:secret]"'],
    ['DB_PASSWORD=abcd,REST', 'DB_PASSWORD=[redacted:secret]'],
    ['password := "x"', 'password := "[redacted:secret]"'],
    ["password = '''x'''", "password = '[redacted:secret]'"],
    ['{"password":"","user":"ada"}', '{"password":"","user":"ada"}'],
    ...['1: ', '> ', '+', 'k.pem:'].flatMap((prefix) => {
      const begin = `${prefix}-----BEGIN ${'PRIVATE'} KEY-----`;
      const body = `\n${prefix}${many('MIIa', 16)}`.repeat(2);
      const end = `\n${prefix}-----END ${'PRIVATE'} KEY-----`;
      return [
        [begin + body + end, `${prefix}[redacted:private-key]`],
        [begin + body, `${prefix}[redacted:private-key]`],
        [`${begin}\n${prefix}MIIabc\n${prefix}wxYZ09==`, `${prefix}[redacted:private-key]`],
      ];
    }),
    ['db_pass=hunter2', 'db_pass=[redacted:secret]'],
    ['my-db-pass: hunter', 'my-db-pass: [redacted:secret]'],
    ['DB_PASSWORD_PROD=correct', 'DB_PASSWORD_PROD=[redacted:secret]'],
    ['api_key_old = "abcd"', 'api_key_old = "[redacted:secret]"'],
    ['REDIS_AUTH_DEV=hunter2', 'REDIS_AUTH_DEV=[redacted:secret]'],
    ['<password_new>hunter2</password_new>', '<password_new>[redacted:secret]</password_new>'],
    ['{"db_pass":["hunter2"]}', '{"db_pass":["[redacted:secret]"]}'],
    ['password: >-\n  correct horse\nuser: ada', 'password: >-\n  [redacted:secret]\nuser: ada'],
    ['token:\n  - abcdef\n', 'token:\n  - [redacted:secret]\n'],
    [`whsec_${many('aB3x', 6)}`, '[redacted:api-key]'],
    [`xapp-1-${many('aB3x', 6)}`, '[redacted:slack-token]'],
    [
      `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1.0\n\n${many('aB3x', 20)}\n-----END PGP PRIVATE KEY BLOCK-----`,
      '[redacted:private-key]',
    ],
    [`Authorization: Bearer ${many('abc1', 6)}`, 'Authorization: Bearer [redacted:authorization]'],
    [`"authorization": "bearer ${many('abc1', 6)}"`, '"authorization": "bearer [redacted:authorization]"'],
    [`Authorization: token ${many('abc1', 6)}`, 'Authorization: token [redacted:authorization]'],
    [`https://${many('abc1', 6)}@github.com/a/b`, 'https://[redacted:credentials]@github.com/a/b'],
    ...['ya29.', 'gsk_', 'xai-', 'pypi-'].map((begin) => [begin + many('aB3x', 9), '[redacted:api-key]']),
    [`SG.${many('aB3x', 5)}.${many('aB3x', 9)}`, '[redacted:api-key]'],
    [`dop_v1_${many('ab34', 16)}`, '[redacted:api-key]'],
    [`shpat_${many('ab34', 8)}`, '[redacted:api-key]'],
    [`AGE-SECRET-KEY-1${many('QPZR', 14)}`, '[redacted:api-key]'],
    ...['hvs.', 'GOCSPX-', 'lin_api_', 'ntn_', 'figd_', 'dp.pt.', 'pplx-', 'sq0atp-', 'pscale_tkn_'].map(
      (begin) => [begin + many('aB3x', 9), '[redacted:api-key]'],
    ),
    [`sbp_${many('ab34', 10)}`, '[redacted:api-key]'],
    [`dapi${many('ab34', 8)}`, '[redacted:api-key]'],
    ['const password: string = "hunter2";', 'const password: string = "[redacted:secret]";'],
    ['password = b"hunter2"', 'password = b"[redacted:secret]"'],
    ['password = """\nab\ncd"""', 'password = "[redacted:secret]"'],
    ['**Password:** hunter2', '**Password:** [redacted:secret]'],
    ['**API key**: a1b2c3', '**API key**: [redacted:secret]'],
    ['? password\n: hunter2', '? password\n: [redacted:secret]'],
    ['Your password:\nhunter2', 'Your password:\n[redacted:secret]'],
    ['\u001b[1mpassword\u001b[0m: hunter2', '\u001b[1mpassword\u001b[0m: [redacted:secret]'],
    ['password：hunter2', 'password：[redacted:secret]'],
    ['password      =      hunter2', 'password      =      [redacted:secret]'],
    ['password: !!str hunter2', 'password: !!str [redacted:secret]'],
    ['password: |2-\n  hunter2', 'password: |2-\n  [redacted:secret]'],
    ['password: |\n  ab\n\n   cd\n  ef\nuser: ada', 'password: |\n  [redacted:secret]\nuser: ada'],
    ['token:\n- ab\n- cd\nuser: ada', 'token:\n- [redacted:secret]\nuser: ada'],
    ['password:\n  value: hunter2', 'password:\n  value: [redacted:secret]'],
    ['- name: DB_PASSWORD\n  value: hunter2', '- name: DB_PASSWORD\n  value: [redacted:secret]'],
    ['{"name":"DB_PASSWORD","value":"hunter2"}', '{"name":"DB_PASSWORD","value":"[redacted:secret]"}'],
    ['<add key="Password" value="hunter2"/>', '<add key="Password" value="[redacted:secret]"/>'],
    ['<password type="x">hunter2</password>', '<password type="x">[redacted:secret]</password>'],
    ['<password><![CDATA[hunter2]]></password>', '<password><![CDATA[[redacted:secret]]]></password>'],
    ['ENV DB_PASSWORD hunter2', 'ENV DB_PASSWORD [redacted:secret]'],
    ['setx OPENAI_API_KEY a1b2c3', 'setx OPENAI_API_KEY [redacted:secret]'],
    ['#define PASSWORD "hunter2"', '#define PASSWORD "[redacted:secret]"'],
    ['gh auth login --with-token <<< a1b2c3', 'gh auth login --with-token <<< [redacted:secret]'],
    ['curl -sSu ada:hunter2 https://x', 'curl -sSu ada:[redacted:secret] https://x'],
    ['docker login -u ada -p hunter2', 'docker login -u ada -p [redacted:secret]'],
    ["CREATE USER ada IDENTIFIED BY 'hunter2'", "CREATE USER ada IDENTIFIED BY '[redacted:secret]'"],
    ['The password is hunter2, ok', 'The password is [redacted:secret], ok'],
    ['API_KEY_1=a1b2c3; password2=hunter', 'API_KEY_1=[redacted:secret]; password2=[redacted:secret]'],
    ['DB_PASS_2=hunter', 'DB_PASS_2=[redacted:secret]'],
    ['dbPass: "hunter2"', 'dbPass: "[redacted:secret]"'],
    ['{"set-cookie":"sid=abcdef"}', '{"set-cookie":"[redacted:cookie]"}'],
    ['password=none-of-it', 'password=[redacted:secret]'],
    ['user=ada&password=hunter2&a=1', 'user=ada&password=[redacted:secret]&a=1'],
    ['"{""password"":""hunter2"",""a"":1}"', '"{""password"":""[redacted:secret]"",""a"":1}"'],
    [
      '\\\\\\"password\\\\\\":\\\\\\"hunter2\\\\\\"',
      '\\\\\\"password\\\\\\":\\\\\\"[redacted:secret]\\\\\\"',
    ],
  ])('takes out the value in %s', (text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact(expected)).toBe(expected);
  });

  it.each([
    'interface Login { password: string; token?: string | null }',
    'const token = values[i]; const next = token = readToken(input)',
    'password: process.env.PASSWORD, apiKey: ${API_KEY}',
    'pip install sk-learn-pipelines-and-more',
    'see https://example.com:8080/a and git@host:repo.git',
    'tokens: 500 of 128000',
    'token_count=1234; password_min_length=1200; render_pass=shadow; is_pass: false; token_type: "bearer"',
    'docker run -u 1000:1000 image; git push -u origin main; mkdir -p a/b; ps -p 12',
    'token:\n  url: https://example.com',
    'mysql -P 3306 -p; tests_pass=12; see Cookie: a small text',
    'https://x/?page=2&sort=key&keyword=abcdefgh',
    '-----BEGIN PUBLIC KEY-----',
    'git clone https://a-robot-of-the-company@github.com/a/b',
    'authorization: required-for-every-request',
    'password:\n  type: string\n  minLength: 12',
    'password:\nuser: ada',
    'def next(self) -> Token:\n    """Returns the next token."""',
    'The password is required. An API key is not needed. docker run -p 8080:80 x',
    'Failed password for root from 10.0.0.1 port 51234 ssh2',
    'the secret is to start early; "max_tokens": 4096; commit 2159b54712be6aebb636',
    '- `password`: the password of the user; _password_: a format',
    '["username", "password", "email1"]; t("password", "the password of user 1")',
    '| token | string | required |\n| max tokens | 128000 |',
    'redis://host?password=***&db=1',
    'login --password "$PASSWORD" --token <token>',
    'CLIENT_AUTH = "1.3.6.1.5.5.7.3.2"; --auth=trust',
    'password = (self.user or "").lower(); print(f"password={password!r}")',
  ])('leaves %s alone', (text) => {
    expect(redact(text)).toBe(text);
  });

  it('redacts fields that are named as secrets are, and nothing else of a value', () => {
    const value = { user: 'ada', options: { dbPassword: 'abc', retries: 3 }, list: ['x'] };
    expect(redactJson(value, redact)).toEqual({
      ...value,
      options: { dbPassword: '[redacted:secret]', retries: 3 },
    });
    expect(redactJson({ password: ['abc', 12], token: { value: 'abc', kind: { id: 'x' } } }, redact)).toEqual(
      {
        password: ['[redacted:secret]', '[redacted:secret]'],
        token: { value: '[redacted:secret]', kind: { id: '[redacted:secret]' } },
      },
    );
    const pair = { name: 'DB_PASSWORD', value: 'abc' };
    expect(redactJson([pair, { Authorization: 'abc', Cookie: 'a=b' }], redact)).toEqual([
      { name: 'DB_PASSWORD', value: '[redacted:secret]' },
      { Authorization: '[redacted:secret]', Cookie: '[redacted:secret]' },
    ]);
    const harmless = { path: 'src/token.ts', list: ['a', null], name: 'token_count', value: 'abc' };
    expect(redactJson(harmless, redact)).toBe(harmless);
  });

  const below = { password: ['a "b" c\\', ''], api_key: { value: "it's", old: [{ id: 'x' }, null] } };

  it.each([
    ['JSON', JSON.stringify],
    ['JSON in lines', (value: unknown) => JSON.stringify(value, null, 2)],
    ['JSON that JSON quotes', (value: unknown) => JSON.stringify({ body: JSON.stringify(value) })],
    [
      'JSON that is quoted twice',
      (value: unknown) => JSON.stringify([JSON.stringify({ body: JSON.stringify(value) })]),
    ],
    ['JSON in prose', (value: unknown) => `It's "so": ${JSON.stringify(value)}, isn't it? "a": 'many'`],
  ])('redacts below such a field of a text as of a value: %s', (_, write: (value: unknown) => string) => {
    const redacted = write(redactJson(below, redact));
    expect(redact(write(below))).toBe(redacted);
    expect(redact(redacted)).toBe(redacted);
  });

  it.each([
    [
      `{'token': ['abc', 'it\\'s'], 'a': 'b'}`,
      `{'token': ['[redacted:secret]', '[redacted:secret]'], 'a': 'b'}`,
    ],
    ['{"token": {"value": "abc', '{"token": {"value": "[redacted:secret]'],
    [
      '{"token": {"value": "abc\n"b": "c"}, "d": "e"',
      '{"token": {"value": "[redacted:secret]\n"b": "[redacted:secret]"}, "d": "e"',
    ],
    ['{"token": {"pin": -12.5, "on": true}}', '{"token": {"pin": [redacted:secret], "on": true}}'],
    [
      '"token": [], "tokens": ["a"], "page_token": ["b"]',
      '"token": [], "tokens": ["a"], "page_token": ["b"]',
    ],
  ])('redacts below such a field of %s', (text, expected) => {
    expect(redact(text)).toBe(expected);
  });

  it('looks for more patterns where they are given, whatever their flags, and takes what a group names', () => {
    const own = secretRedactor([
      { kind: 'ticket', pattern: /T-(?<secret>\d+)/y },
      { kind: 'x', pattern: /z*/ },
    ]);
    expect(own('see T-12 and T-13')).toBe('see T-[redacted:ticket] and T-[redacted:ticket]');
  });

  it('redacts secrets of the environment by their values, in whatever form they stand', () => {
    const value = 'correct horse/battery="staple"';
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    for (const [name, isSecret] of [
      ['X_TEST_PASSWORD', true],
      ['X_TEST_FOLDER', false],
    ] as const) {
      process.env[name] = value;
      vi.advanceTimersByTime(600_000);
      for (const text of [
        value,
        encodeURIComponent(value),
        JSON.stringify({ a: value }),
        `{"token":"x","data":"${Buffer.from(value).toString('base64')}"}`,
      ]) {
        expect(/horse|Y29ycmVjd/.test(redact(`a ${text} b`)), name).toBe(!isSecret);
      }
      delete process.env[name];
      vi.advanceTimersByTime(600_000);
      expect(redact(`a ${value} b`)).toContain('horse');
    }
    rememberSecrets(['remembered-value', 'short']);
    expect(redact('a remembered-value, short')).toBe('a [redacted:secret], short');
    expect(redact(`in ${process.cwd()}`)).toBe(`in ${process.cwd()}`);
  });

  it('changes nothing the second time, and never throws', () => {
    const piece = fc.oneof(fc.constantFrom(...Object.values(secrets)), fc.string(), fc.constant('password='));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const once = redact(pieces.join(' '));
        expect(redact(once)).toBe(once);
        for (const secret of Object.values(secrets)) expect(once).not.toContain(` ${secret} `);
      }),
    );
  });

  it.each([
    'page_token',
    'nextPageToken',
    'next_token',
    'sync-token',
    'continuation_token',
    'cursor_token',
    'pageToken',
  ])('leaves %s, with which an agent goes on in a listing', (name) => {
    for (const text of [
      `{"${name}":"CAUQAA1234567890"}`,
      `${name}=CAUQAA1234567890`,
      `${name}: 'CAUQAA1234567890'`,
    ]) {
      expect(redact(text)).toBe(text);
    }
    expect(redact('{"access_token":"CAUQAA1234567890"}')).not.toContain('CAUQAA');
  });

  it('gets through long inputs that nearly match, again and again', () => {
    const near = [
      'eyJ',
      'eyJa.',
      'sk-',
      '-----BEGIN PRIVATE KEY-----',
      '://a:',
      'token=',
      'password="',
      '"token":[',
      '"token":["',
      'password:               ',
      'password is ',
      'password: |\n ',
      'token value: ',
      'curl -aaaaau ',
      'setx token',
      'token=`',
      '<token>',
      'a.',
      'AKIA',
      '\n',
    ];
    for (const unit of near) {
      const input = many(unit, Math.ceil(100_000 / unit.length));
      expect(redact(input).length).toBeGreaterThan(0);
    }
  });
});
