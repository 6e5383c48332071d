import { anthropic, google, openai } from './shapes.js';

/** Answers that mean that the request does not fit the context window, as the providers document them. */
export const overflows: readonly (readonly [provider: string, status: number, body: unknown])[] = [
  [
    'OpenAI, Chat',
    400,
    openai(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
      { code: 'context_length_exceeded' },
    ),
  ],
  [
    'OpenAI, Responses',
    400,
    openai('Your input exceeds the context window of this model. Please adjust your input and try again.', {
      code: 'context_length_exceeded',
      param: 'input',
    }),
  ],
  ['OpenAI, code alone', 400, openai('Bad request', { code: 'context_length_exceeded' })],
  [
    'OpenAI, one long text',
    400,
    openai(
      "Invalid 'input[3].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.",
      { code: 'string_above_max_length' },
    ),
  ],
  [
    'Azure',
    400,
    {
      error: {
        code: 'context_length_exceeded',
        message:
          "This model's maximum context length is 16384 tokens, however you requested 18022 tokens (14022 in your prompt; 4000 for the completion).",
        status: 400,
      },
    },
  ],
  [
    'Anthropic',
    400,
    anthropic('invalid_request_error', 'prompt is too long: 213462 tokens > 200000 maximum'),
  ],
  [
    'Anthropic, with output',
    400,
    anthropic(
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 175272 + 32000 > 200000, decrease input length or `max_tokens` and try again',
    ),
  ],
  ['Anthropic, bytes', 413, anthropic('request_too_large', 'Request exceeds the maximum size')],
  [
    'Gemini',
    400,
    google(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).',
    ),
  ],
  [
    'Vertex',
    400,
    google(
      400,
      'INVALID_ARGUMENT',
      'Unable to submit request because the input token count is 1048577 but model only supports up to 1048576. Reduce the input token count and try again.',
    ),
  ],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
  [
    'Bedrock, Claude',
    400,
    {
      message: 'The model returned the following errors: prompt is too long: 227255 tokens > 200000 maximum',
    },
  ],
  [
    'Bedrock, Titan',
    400,
    {
      message:
        '400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9000',
    },
  ],
  [
    'Bedrock, Nova',
    400,
    {
      message:
        'Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
    },
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message:
        'Prompt contains 36876 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      code: '3051',
    },
  ],
  [
    'Groq',
    400,
    openai('Please reduce the length of the messages or completion.', { code: 'context_length_exceeded' }),
  ],
  [
    'Groq, more than a minute allows',
    413,
    {
      error: {
        message:
          'Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 22120, please reduce your message size and try again.',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
  ],
  [
    'OpenRouter',
    400,
    {
      error: {
        message:
          "This endpoint's maximum context length is 204800 tokens. However, you requested about 205597 tokens (158420 of text input, 15177 of tool input, 32000 in the output). Please reduce the length of either one.",
        code: 400,
      },
    },
  ],
  [
    'OpenRouter, wrapped',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}',
          provider_name: 'Anthropic',
        },
      },
    },
  ],
  [
    'vLLM',
    400,
    {
      object: 'error',
      message:
        "This model's maximum context length is 32768 tokens. However, you requested 33000 tokens (32000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
      type: 'BadRequestError',
      code: 400,
    },
  ],
  [
    'vLLM, with output',
    400,
    {
      error: {
        message:
          "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 1500 input tokens (32000 > 32768 - 1500).",
        type: 'BadRequestError',
        code: 400,
      },
    },
  ],
  ['Ollama', 400, { error: 'the input length exceeds the context length' }],
  [
    'Ollama, chat',
    400,
    {
      error: {
        message: 'prompt too long; exceeded max context length by 4104 tokens',
        type: 'invalid_request_error',
      },
    },
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 14429,
        n_ctx: 8192,
      },
    },
  ],
  [
    'llama.cpp, as a server error',
    500,
    {
      error: {
        code: 500,
        message: 'request (8283 tokens) exceeds the available context size (2048 tokens), try increasing it',
        type: 'server_error',
      },
    },
  ],
  [
    'llama-cpp-python',
    400,
    openai(
      "This model's maximum context length is 2048 tokens. However, you requested 2981 tokens (2981 in the messages, None in the completion).",
      { code: 'context_length_exceeded' },
    ),
  ],
  [
    'LM Studio',
    400,
    {
      error:
        'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
    },
  ],
  ['LM Studio, MLX', 400, { error: 'Context size has been exceeded.' }],
  [
    'DeepSeek',
    400,
    openai(
      "This model's maximum context length is 65536 tokens. However, you requested 69648 tokens (69648 in the messages, 0 in the completion). Please reduce the length of the messages or completion.",
    ),
  ],
  [
    'xAI',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
  ],
  [
    'Cohere',
    400,
    {
      message:
        'too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 150213. Try using a shorter prompt, or enable prompt truncating.',
    },
  ],
  [
    'Together',
    422,
    {
      error: {
        message:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`',
        type: 'invalid_request_error',
      },
    },
  ],
  [
    'Cerebras',
    400,
    {
      message:
        'Please reduce the length of the messages or completion. Current length is 9120 while limit is 8192',
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
    },
  ],
  [
    'Fireworks',
    400,
    {
      error: {
        object: 'error',
        type: 'invalid_request_error',
        message: 'The prompt is too long: 140122, model maximum context length: 131072',
      },
    },
  ],
  [
    'GitHub Copilot',
    400,
    {
      error: {
        message: 'prompt token count of 151402 exceeds the limit of 128000',
        code: 'model_max_prompt_tokens_exceeded',
      },
    },
  ],
  [
    'Moonshot',
    400,
    {
      error: {
        message: 'Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)',
        type: 'invalid_request_error',
      },
    },
  ],
  [
    'OpenAI, more than a whole minute may have',
    429,
    {
      error: {
        message:
          'Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 90000. The input or output tokens must be reduced.',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
  ],
  ['LangChain', 400, { error: { message: 'No.', lc_error_code: 'ContextOverflowError' } }],
  ['a key that has a code', 403, { error: { message: 'No.', code: 'context_length_exceeded' } }],
  [
    'MiniMax',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'invalid params, context window exceeds limit (2013)',
      },
    },
  ],
  ['AgentScope, as a limit', 400, openai('Token limit exceeded for this model')],
  ['AgentScope, in other words', 400, openai('The input exceeds the token limit of 8192')],
  ['Qwen', 400, { code: 'InvalidParameter', message: 'Range of input length should be [1, 983616]' }],
  ['GLM', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }],
  ['GLM, in Chinese', 400, { error: { code: '1261', message: 'Prompt 超长' } }],
  ['a gateway, in Chinese', 400, openai('输入内容的长度超过了模型的最大限制，请缩短后重试')],
  ['a gateway, in other words', 400, openai('请求的 token 数超出模型上下文窗口')],
  ['a gateway, of the context', 400, openai('上下文长度超出限制（131072）')],
  [
    'Doubao',
    400,
    {
      error: {
        code: 'InvalidParameter',
        message: 'Total tokens of image and text exceed max message tokens.',
      },
    },
  ],
  ['a proxy without words', 413, ''],
  [
    'Perplexity',
    400,
    openai('The total number of tokens in the prompt exceeds the maximum context length of 127072 tokens', {
      type: 'bad_request',
      code: 400,
    }),
  ],
  [
    'Hugging Face TGI',
    422,
    {
      error: 'Input validation error: `inputs` must have less than 4095 tokens. Given: 5221',
      error_type: 'validation',
    },
  ],
  [
    'LiteLLM',
    400,
    openai(
      "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum context length is 8192 tokens.",
      { type: null, code: '400' },
    ),
  ],
  [
    'Gemini, without figures',
    400,
    google(400, 'INVALID_ARGUMENT', 'The input token count exceeds the maximum number of tokens allowed.'),
  ],
  [
    'watsonx',
    400,
    {
      errors: [
        {
          code: 'invalid_input_argument',
          message: 'the number of input tokens 5011 cannot exceed the total tokens limit 4096 for this model',
        },
      ],
    },
  ],
  ['SGLang', 400, openai("The input (9000 tokens) is longer than the model's context length (8192 tokens).")],
  [
    'vLLM, decoder prompt',
    400,
    openai('The decoder prompt (length 9000) is longer than the maximum model length of 8192.'),
  ],
  ['a gateway, by length', 400, openai('Input length 9000 exceeds the maximum length 8192')],
];
