import { type AnswerCase, anthropic, google, openai } from './shapes.js';

/** Answers that mean something else, most of which speak of tokens all the same. */
export const otherRefusals: readonly AnswerCase[] = [
  ['a rate in Chinese', 429, openai('请求频率超过限制，请稍后重试'), 'rate_limit'],
  ['a wrong field in Chinese', 400, openai('输入的验证码长度不正确'), 'payload'],
  [
    'OpenAI, tokens per minute',
    429,
    openai(
      'Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used 22000, Requested 12000. Please try again in 8s.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
    'rate_limit',
  ],
  [
    'a proxy that turns 429 into 400',
    400,
    openai('Request too large on tokens per min (TPM): please reduce the length of the messages'),
    'rate_limit',
  ],
  ...['Hourly', 'Daily', 'Weekly', 'Monthly', 'Per-minute', "This month's"].map(
    (span): AnswerCase => [`a gateway, ${span}`, 400, openai(`${span} token limit exceeded`), 'rate_limit'],
  ),
  [
    'OpenAI, the name of a tool',
    400,
    openai(
      "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.",
      { code: 'string_above_max_length' },
    ),
    'payload',
  ],
  ['a gateway, a day', 400, openai('The request exceeds the token limit for today'), 'rate_limit'],
  ['a gateway, tokens of a minute', 400, openai('Tokens per minute exceeded'), 'rate_limit'],
  ['a key with a daily limit', 403, openai('Daily token limit exceeded for this API key'), 'auth'],
  [
    'OpenAI, quota',
    429,
    openai('You exceeded your current quota, please check your plan and billing details.', {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
    'quota',
  ],
  ['OpenAI, key', 401, openai('Incorrect API key provided: sk-***.', { code: 'invalid_api_key' }), 'auth'],
  [
    'Azure, tokens per minute',
    429,
    {
      error: {
        code: '429',
        message:
          'Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current OpenAI S0 pricing tier.',
      },
    },
    'rate_limit',
  ],
  [
    'Anthropic, tokens per minute',
    429,
    anthropic(
      'rate_limit_error',
      "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    ),
    'rate_limit',
  ],
  [
    'Anthropic, long context needs credit',
    429,
    anthropic('rate_limit_error', 'Extra usage is required for long context requests.'),
    'rate_limit',
  ],
  [
    'Anthropic, credit',
    400,
    anthropic('invalid_request_error', 'Your credit balance is too low to access the Anthropic API.'),
    'quota',
  ],
  ['Anthropic, overloaded', 529, anthropic('overloaded_error', 'Overloaded'), 'transient'],
  [
    'Gemini, unavailable',
    503,
    google(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
    'transient',
  ],
  ['Gemini, too slow', 504, google(504, 'DEADLINE_EXCEEDED', 'The request timed out.'), 'transient'],
  [
    'Bedrock, not ready',
    424,
    { __type: 'ModelNotReadyException', message: 'Model is not ready' },
    'transient',
  ],
  ['Bedrock, internal', 500, { __type: 'InternalServerException', message: 'Internal error' }, 'transient'],
  ['a proxy that waited too long', 408, 'Request Timeout', 'transient'],
  ['a gateway', 502, '<html>502 Bad Gateway</html>', 'transient'],
  [
    'OpenAI, an image that cannot be had',
    400,
    openai('Timed out while downloading the image: connection timed out', { code: 'invalid_image_url' }),
    'payload',
  ],
  [
    'Gemini, quota on input tokens',
    429,
    google(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000',
    ),
    'quota',
  ],
  [
    'Bedrock, throttling',
    429,
    { message: 'Too many tokens, please wait before trying again.' },
    'rate_limit',
  ],
  [
    'Bedrock, per day',
    400,
    { message: 'Too many tokens per day, please wait before trying again.' },
    'rate_limit',
  ],
  [
    'output limit',
    400,
    openai('max_tokens is too large: 200000. This model supports at most 16384 completion tokens', {
      param: 'max_tokens',
    }),
    'payload',
  ],
  [
    'DeepSeek, output limit',
    400,
    openai('Invalid max_tokens value, the valid range of max_tokens is [1, 393216]'),
    'payload',
  ],
  ['not found', 404, openai('The model `gpt-9` does not exist', { code: 'model_not_found' }), 'payload'],
  [
    'server error',
    500,
    { error: { message: 'The server had an error processing your request', type: 'server_error' } },
    'transient',
  ],
  [
    'a server that answers with the request',
    422,
    {
      detail: [
        {
          loc: ['body', 'messages'],
          msg: 'field required',
          input: 'prompt is too long: maximum context length',
        },
      ],
    },
    'payload',
  ],
  [
    'OpenAI, requests per day',
    429,
    openai('Rate limit reached for gpt-5 on requests per day (RPD): Limit 10000, Used 10000.', {
      type: 'requests',
      code: 'rate_limit_exceeded',
    }),
    'rate_limit',
  ],
  [
    'OpenAI, a token that expired',
    401,
    openai('Your access token has expired. Too many tokens were issued for this project.', {
      code: 'token_expired',
    }),
    'auth',
  ],
  [
    'Moonshot, as 401',
    401,
    {
      error: {
        message: 'This model supports only 256K context. Please shorten the conversation.',
        type: 'invalid_authentication_error',
      },
    },
    'auth',
  ],
  [
    'a gateway, tokens of a day',
    403,
    { error: { message: 'Daily token limit exceeded for this API key', type: 'forbidden' } },
    'auth',
  ],
  [
    'OpenAI, less than a minute may have',
    429,
    {
      error: {
        message: 'Rate limit reached (TPM): Limit 30000, Requested 9000.',
        code: 'rate_limit_exceeded',
      },
    },
    'rate_limit',
  ],
  [
    'OpenAI, an unknown parameter',
    400,
    openai("Unsupported parameter: 'max_tokens' is not supported with this model.", {
      code: 'unsupported_parameter',
    }),
    'payload',
  ],
  [
    'Azure, content filter',
    400,
    {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        code: 'content_filter',
        status: 400,
        innererror: { code: 'ResponsibleAIPolicyViolation' },
      },
    },
    'payload',
  ],
  ['Anthropic, key', 401, anthropic('authentication_error', 'invalid x-api-key'), 'auth'],
  [
    'Anthropic, max_tokens',
    400,
    anthropic(
      'invalid_request_error',
      'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4',
    ),
    'payload',
  ],
  [
    'Gemini, a key without permission',
    403,
    google(403, 'PERMISSION_DENIED', 'Method does not allow unregistered callers.'),
    'auth',
  ],
  [
    'Gemini, quota per minute',
    429,
    google(429, 'RESOURCE_EXHAUSTED', "Quota exceeded for quota metric 'Tokens per minute' of the project."),
    'rate_limit',
  ],
  [
    'Vertex, capacity',
    429,
    google(429, 'RESOURCE_EXHAUSTED', 'Resource exhausted. Please try again later.'),
    'rate_limit',
  ],
  ['DeepSeek, balance', 402, openai('Insufficient Balance', { type: 'unknown_error' }), 'quota'],
  [
    'OpenRouter, credit',
    402,
    openai(
      'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 4000.',
      { code: 402 },
    ),
    'quota',
  ],
  [
    'OpenRouter, moderation',
    403,
    openai('Your chosen model requires moderation and your input was flagged', { code: 403 }),
    'payload',
  ],
  [
    'Qwen, an account in arrears',
    400,
    { code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' },
    'quota',
  ],
  [
    'Qwen, inspection',
    400,
    { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' },
    'payload',
  ],
  [
    'Mistral, rate',
    429,
    { object: 'error', message: 'Requests rate limit exceeded', type: 'rate_limited', code: '1300' },
    'rate_limit',
  ],
  ['Cohere, key', 401, { message: 'invalid api token' }, 'auth'],
  [
    'Cerebras, tokens per minute',
    429,
    {
      message: 'Tokens per minute limit exceeded',
      type: 'too_many_tokens_error',
      code: 'token_quota_exceeded',
    },
    'rate_limit',
  ],
];
