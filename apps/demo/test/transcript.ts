import type { PageBackend } from '../src/server/routes.js';
import { emptyTranscript, fold, type Transcript } from '../web/src/state/transcript.js';

/** What the page shows of a session now. */
export async function transcriptOf(backend: Pick<PageBackend, 'events'>, id: string): Promise<Transcript> {
  let transcript = emptyTranscript(id);
  for await (const sent of backend.events(id, new AbortController().signal)) {
    transcript = fold(transcript, sent);
    if (sent.type === 'state') break;
  }
  return transcript;
}
