/** Codes that mean that a request does not fit the context window, and nothing else. */
export const OVERFLOW_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded', // OpenAI, Azure, Groq, DeepSeek, Cerebras, llama-cpp-python
  'context_window_exceeded',
  'contextwindowexceedederror', // LiteLLM
  'model_context_window_exceeded', // Anthropic
  'model_max_prompt_tokens_exceeded', // GitHub Copilot
  'exceed_context_size_error', // llama.cpp
  'request_too_large', // Anthropic
  'string_above_max_length', // OpenAI
]);

/** What the providers write, one pattern a wording. */
export const OVERFLOW_TEXTS: readonly RegExp[] = [
  /prompt is too long/i, // Anthropic, also on Bedrock and Vertex; Fireworks
  /input length and `?max_tokens`? exceed context limit/i, // Anthropic
  /request (?:size )?exceeds (?:the maximum size|(?:the )?model context window)/i, // Anthropic, proxies
  /exceeds the context window/i, // OpenAI Responses, Azure
  /maximum context length/i, // OpenAI, Azure, Mistral, DeepSeek, OpenRouter, vLLM, Together, Bedrock (Llama)
  /reduce the length of the messages/i, // Groq, Cerebras
  /maximum prompt length is \d+/i, // xAI
  /input token count\b.{0,40}\b(?:exceeds|only supports)|input token count is \d+ but model only supports/i, // Gemini, Vertex
  /input is too long for requested model/i, // Bedrock
  /too many input tokens/i, // Bedrock (Titan)
  /number of input tokens exceeds maximum length/i, // Bedrock (Nova)
  /input tokens \d+ cannot exceed/i, // watsonx
  /too many tokens: .*prompt/i, // Cohere
  /`?inputs`? tokens \+ `?max_new_tokens`? must be/i, // Together, Hugging Face TGI
  /exceeds the available context size|context size has been exceeded/i, // llama.cpp, LM Studio
  /(?:input|prompt)\b.{0,30}\bexceed(?:s|ed)\b.{0,30}\bcontext (?:length|size|window)/i, // Ollama
  /(?:exceeded|over) (?:max|maximum) context (?:length|size|window)/i, // Ollama
  /greater than the context length|context length of only \d+|reached context length/i, // LM Studio
  /prompt token count of \d+ exceeds the limit/i, // GitHub Copilot
  /exceeded model token limit|supports only \d+k? context/i, // Moonshot
  /context window exceeds limit/i, // MiniMax
  /range of input length should be/i, // Qwen (DashScope)
  /prompt exceeds max(?:imum)? length/i, // GLM
  /exceed max message tokens/i, // Doubao
  /contextwindowexceedederror/i, // LiteLLM, which writes the class into the message
  /`?inputs`? must have less than \d+ tokens/i, // Hugging Face TGI
  /token count exceeds the maximum number of (?:input )?tokens/i, // Gemini, without figures
  /context[ _]length[ _]exceeded|(?:exceeds|surpassing) the (?:llm |model'?s? )?context window/i, // gateways
];
