import type { JsonObject, JsonValue } from '../lib/json.js';

/** The author of a text: the agent (its words and notes), files of the workspace, or a server. */
export type TextOrigin = 'agent' | 'file' | 'server';

interface Block {
  readonly providerMetadata?: JsonObject | undefined;
  /** `undefined` for the user's words in their own messages, and for results of unknown origin. */
  readonly origin?: TextOrigin | undefined;
}
/** Plain text. */
export interface TextBlock extends Block {
  readonly type: 'text';
  readonly text: string;
}
/** The model's reasoning. A signed block is valid only if it is unchanged, so keep or remove it as a whole. */
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
/** The model's request to run a tool. */
export interface ToolUseBlock extends Block {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
}
/** A block of a tool's output. */
export type ToolOutputBlock = TextBlock | FileBlock;
/** The result of one tool call. */
export interface ToolResultBlock extends Block {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  readonly toolName: string;
  readonly output: readonly ToolOutputBlock[];
  readonly isError: boolean;
}
/**
 * A provider's own item, for example an encrypted compaction. It is sent back byte for byte. In a summary it replaces everything before it,
 * including the summary's text. Its provider gets the item; all others get the text.
 */
export interface OpaqueBlock extends Block {
  readonly type: 'opaque';
  readonly provider: string;
  readonly data: JsonValue;
  /** The id of the call if the item is a half of a call that the provider ran. Both halves must be kept or removed together. */
  readonly callId?: string | undefined;
  /** Which half of the call it is. A result may come in a later answer than its call. */
  readonly half?: 'call' | 'result' | undefined;
  /** The provider's token count of the item, if reported. */
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
