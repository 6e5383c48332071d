import type { JsonObject, JsonValue } from '../lib/json.js';

/** Who wrote a text: the agent itself, in words and notes of its own; files of the workspace; a server. */
export type TextOrigin = 'agent' | 'file' | 'server';

interface Block {
  readonly providerMetadata?: JsonObject | undefined;
  /** Left out for words of the user in their own messages, and for results of which nobody knows who wrote them. */
  readonly origin?: TextOrigin | undefined;
}
/** Plain text. */
export interface TextBlock extends Block {
  readonly type: 'text';
  readonly text: string;
}
/** The model's reasoning. A signed block is valid only byte for byte: keep it whole or remove it whole. */
export interface ThinkingBlock extends Block {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature?: string | undefined;
}
/** Location of a file's content: in the block itself, on the web, in the workspace, or with the provider. */
export type FileSource =
  | { readonly type: 'base64'; readonly data: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'workspace'; readonly path: string }
  | { readonly type: 'provider'; readonly provider: string; readonly id: string };
/** An image, a document or another file, inline or by reference. */
export interface FileBlock extends Block {
  readonly type: 'file';
  readonly mediaType: string;
  readonly source: FileSource;
  readonly filename?: string | undefined;
}
/** The model asks for a tool to be run. */
export interface ToolUseBlock extends Block {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
}
/** A block that a tool may answer with. */
export type ToolOutputBlock = TextBlock | FileBlock;
/** The answer to one tool call. */
export interface ToolResultBlock extends Block {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly toolName: string;
  readonly output: readonly ToolOutputBlock[];
  readonly isError: boolean;
}
/**
 * A provider's own item, for example an encrypted compaction, replayed byte for byte. In a summary it stands for everything
 * before it, the text of the summary included. Its provider is sent the item instead of that. Everybody else reads the text.
 */
export interface OpaqueBlock extends Block {
  readonly type: 'opaque';
  readonly provider: string;
  readonly data: JsonValue;
  /** The call that the item is a half of, where the provider ran a tool itself: both halves stay or go together. */
  readonly callId?: string | undefined;
  /** The half of the call that it is. A result may come in a later answer than its call. */
  readonly half?: 'call' | 'result' | undefined;
  /** The tokens that it has for its provider, where the provider told. */
  readonly tokens?: number | undefined;
}
/** One part of a message. */
export type ContentBlock =
  | TextBlock
  | ThinkingBlock
  | FileBlock
  | ToolUseBlock
  | ToolResultBlock
  | OpaqueBlock;
