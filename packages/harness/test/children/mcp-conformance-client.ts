// The client that MCP's conformance suite runs: connects to the address it is given, consents to what is asked, and calls every tool.
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import {
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import type { Tool, ToolContext } from '@x/core';
import { mcp } from '../../src/mcp/index.js';
import { Provider } from '../mcp/oauth-provider.js';

const url = process.argv.at(-1) ?? '';
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

/** Authorizes by the identity provider of an enterprise: its token for the user becomes a grant, and no user is asked. */
class EnterpriseProvider extends Provider {
  override readonly redirectUrl = undefined;
  async prepareTokenRequest(): Promise<URLSearchParams> {
    const response = await fetch(context.idp_token_endpoint, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        client_id: context.idp_client_id,
        subject_token: context.idp_id_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
        audience: this.discoveryState()?.authorizationServerUrl ?? '',
        resource: url,
      }),
    });
    const { access_token: assertion } = (await response.json()) as { readonly access_token: string };
    return new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
  }
}

const authProvider = providerOf();

function providerOf() {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem, signing_algorithm } = context;
  if (scenario === 'auth/client-credentials-jwt')
    return new PrivateKeyJwtProvider({ clientId, privateKey: private_key_pem, algorithm: signing_algorithm });
  if (scenario === 'auth/client-credentials-basic')
    return new ClientCredentialsProvider({ clientId, clientSecret });
  if (scenario === 'auth/cross-app-access-complete-flow')
    return new EnterpriseProvider({ client: { client_id: clientId, client_secret: clientSecret } });
  return new Provider({
    client: clientId === undefined ? undefined : { client_id: clientId, client_secret: clientSecret },
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
  });
}

/** Does what a user's browser does, as often as it is asked to, three times at most. */
async function authorized<T>(attempt: () => Promise<T>): Promise<T> {
  for (let times = 1; ; times++) {
    try {
      return await attempt();
    } catch (error) {
      const opened = authProvider instanceof Provider ? authProvider.opened : undefined;
      if (opened === undefined || times === 3) throw error;
      const { headers } = await fetch(opened, { redirect: 'manual' });
      const authorizationCode = new URL(headers.get('location') ?? '').searchParams.get('code') ?? '';
      await auth(authProvider, { serverUrl: url, authorizationCode });
    }
  }
}

/** Calls a tool with what its schema takes. */
function call({ definition, run }: Tool) {
  const { properties = {} } = definition.inputSchema as {
    readonly properties?: Record<string, { readonly type?: string }>;
  };
  const input = Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, type === 'string' ? 'text' : 2]),
  );
  const { signal } = new AbortController();
  return run(input, {
    call: { type: 'tool_use', id: 'c', name: definition.name, input },
    signal,
  } as ToolContext);
}

const servers = { suite: { url, authProvider, elicit: () => ({ action: 'accept', content: {} }) as const } };
const capability = await authorized(() => mcp({ servers }));
for (const tool of capability.tools ?? []) await authorized(() => call(tool));
await capability.close?.();
