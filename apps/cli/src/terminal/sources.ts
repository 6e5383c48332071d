/** The sources that fill the window, in the order of a request, with their names for people. */
export const sources = [
  { key: 'system', name: 'System prompt' },
  { key: 'tools', name: 'Tools' },
  { key: 'reminders', name: 'Memory and reminders' },
  { key: 'summary', name: 'Summary' },
  { key: 'conversation', name: 'Conversation' },
  { key: 'toolResults', name: 'Tool results' },
] as const;
