import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';

const CALLBACK = 'http://localhost/callback';

interface ProviderOptions {
  /** A client that was registered by hand. */
  readonly client?: OAuthClientInformationMixed | undefined;
  readonly clientMetadataUrl?: string | undefined;
}

/** Keeps tokens as a program does, and the address that a user is to open. */
export class Provider implements OAuthClientProvider {
  readonly redirectUrl: string | undefined = CALLBACK;
  readonly clientMetadata = {
    client_name: 'x',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
  };
  readonly clientMetadataUrl?: string;
  opened: URL | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #discovered: OAuthDiscoveryState | undefined;
  #verifier = '';

  constructor({ client, clientMetadataUrl }: ProviderOptions = {}) {
    this.#client = client;
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
  }

  clientInformation = () => this.#client;
  saveClientInformation(client: OAuthClientInformationMixed) {
    this.#client = client;
  }
  tokens = () => this.#tokens;
  saveTokens(tokens: OAuthTokens) {
    this.#tokens = tokens;
  }
  invalidateCredentials() {
    this.#tokens = undefined;
  }
  redirectToAuthorization(url: URL) {
    this.opened = url;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier = () => this.#verifier;
  discoveryState = () => this.#discovered;
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discovered = state;
  }
}
