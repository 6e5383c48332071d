/** A provider's metadata of a part, as JSON. `never` makes the type assignable to those of all SDK versions. */
export type Metadata = { [provider: string]: { [key: string]: never } };
type WithMetadata = { providerMetadata?: Metadata };
/** The fields of a tool call. `providerExecuted`: the provider ran the tool. */
type OfCall = { toolCallId: string; dynamic: true; providerExecuted?: true };

/** A chunk of a streamed UI message, compatible with `UIMessageChunk` of version 5 of the AI SDK and later. */
export type UIChunk =
  | { type: 'start'; messageId?: string }
  | { type: 'start-step' | 'finish-step' }
  | { type: 'text-start' | 'text-end' | 'reasoning-start'; id: string }
  | ({ type: 'reasoning-end'; id: string } & WithMetadata)
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | ({ type: 'file'; url: string; mediaType: string } & WithMetadata)
  | ({ type: 'source-url'; sourceId: string; url: string; title?: string } & WithMetadata)
  | ({
      type: 'source-document';
      sourceId: string;
      mediaType: string;
      title: string;
      filename?: string;
    } & WithMetadata)
  | { type: 'tool-input-start'; toolCallId: string; toolName: string; dynamic: true }
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | ({ type: 'tool-input-error'; toolName: string; input: unknown; errorText: string } & OfCall)
  | ({ type: 'tool-input-available'; toolName: string; input: unknown } & OfCall & WithMetadata)
  | { type: 'tool-approval-request'; approvalId: string; toolCallId: string }
  /** A preliminary output is progress. The final output follows. */
  | ({ type: 'tool-output-available'; output: unknown; preliminary?: boolean } & OfCall)
  | ({ type: 'tool-output-error'; errorText: string } & OfCall)
  | { type: `data-${string}`; data: unknown; transient?: boolean }
  | { type: 'error'; errorText: string }
  | { type: 'finish'; finishReason: UIFinishReason; messageMetadata?: unknown };

export type UIFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** A message of `useChat`. Declares only the fields that this package reads. All other fields are kept. */
export interface UIMessageLike {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly unknown[];
}
