import { randomUUID, X509Certificate } from 'node:crypto'
import { readPrivateFile, StartupError } from '@warder/base'
import { metadataClient, type Outbound } from '@warder/outbound'
import { readTokenFile, receive } from '../cloud.ts'
import type { AzureConfig, azureCredentialSources } from '../cloud-settings.ts'
import {
  isToken,
  readSigningKey,
  readToken,
  requestToken,
  signAssertion,
  type TokenSource,
} from '../oauth.ts'

type SourceName = Exclude<(typeof azureCredentialSources)[number], 'auto'>

interface CredentialParts {
  readonly resolvePath: (path: string) => string
  readonly env: NodeJS.ProcessEnv
  readonly outbound: Outbound
  readonly now: () => number
  /** Such as `https://vault.azure.net`. */
  readonly resource: string
}

type CreateSource = (config: AzureConfig, parts: CredentialParts) => TokenSource | undefined

/** In the order in which `auto` tries them. Each returns undefined where it is not configured. */
const sources: Readonly<Record<SourceName, CreateSource>> = {
  'client-secret': createClientSecret,
  'client-certificate': createClientCertificate,
  'workload-identity': createWorkloadIdentity,
  // Used only if a setting requires it: every process of the machine has this identity.
  'managed-identity': createManagedIdentity,
}

const requirements: Readonly<Record<SourceName, string>> = {
  'client-secret': 'root_key_azure.client_secret_file or AZURE_CLIENT_SECRET',
  'client-certificate': 'root_key_azure.client_certificate_file or AZURE_CLIENT_CERTIFICATE_PATH',
  'workload-identity': 'AZURE_FEDERATED_TOKEN_FILE',
  'managed-identity': 'a machine of Azure',
}
const automatic = ['client-secret', 'client-certificate', 'workload-identity'] as const

/**
 * Chooses the source of tokens of Microsoft Entra ID, and contacts nothing.
 * @throws StartupError if there is none, and for files that cannot be used
 */
export function chooseAzureCredentials(config: AzureConfig, parts: CredentialParts): TokenSource {
  const name = config['root_key_azure.credentials']
  for (const one of name === 'auto' ? automatic : [name]) {
    const source = sources[one](config, parts)
    if (source !== undefined) return source
  }
  throw new StartupError(
    name === 'auto'
      ? `root_key_source azure-key-vault finds no credentials: it requires ${automatic.map((one) => requirements[one]).join('; ')}; or root_key_azure.credentials = "managed-identity"`
      : `root_key_azure.credentials ${name} requires ${requirements[name]}`,
  )
}

/** Credentials of an application in a tenant. */
interface Application {
  readonly clientId: string
  readonly tokenUrl: string
}

const idForm = /^[A-Za-z0-9.-]{1,100}$/

/** @throws StartupError */
function readApplication(config: AzureConfig, env: NodeJS.ProcessEnv): Application {
  const tenant = config['root_key_azure.tenant_id'] ?? env.AZURE_TENANT_ID ?? ''
  const clientId = config['root_key_azure.client_id'] ?? env.AZURE_CLIENT_ID ?? ''
  if (!idForm.test(tenant) || !idForm.test(clientId))
    throw new StartupError(
      'root_key_source azure-key-vault requires root_key_azure.tenant_id and root_key_azure.client_id, or AZURE_TENANT_ID and AZURE_CLIENT_ID',
    )
  const authority =
    config['root_key_azure.authority'] ?? env.AZURE_AUTHORITY_HOST ?? 'https://login.microsoftonline.com'
  return { clientId, tokenUrl: `${authority.replace(/\/$/, '')}/${tenant}/oauth2/v2.0/token` }
}

function createApplicationSource(
  { clientId, tokenUrl }: Application,
  { outbound, now, resource }: CredentialParts,
  advice: string,
  authenticate: () => Readonly<Record<string, string>>,
): TokenSource {
  return {
    description: `the application ${clientId}`,
    fetch() {
      const form = {
        ...{ grant_type: 'client_credentials', client_id: clientId, scope: `${resource}/.default` },
        ...authenticate(),
      }
      return requestToken(outbound, tokenUrl, form, { now, advice })
    },
  }
}

function createClientSecret(config: AzureConfig, parts: CredentialParts): TokenSource | undefined {
  const { 'root_key_azure.client_secret_file': file } = config
  const { env, resolvePath } = parts
  if (file === undefined && env.AZURE_CLIENT_SECRET === undefined) return undefined
  const what = file === undefined ? 'AZURE_CLIENT_SECRET' : 'root_key_azure.client_secret_file'
  const read = (): string => {
    const text =
      file === undefined
        ? env.AZURE_CLIENT_SECRET
        : readPrivateFile(resolvePath(file), what).toString().trim()
    if (!isToken(text)) throw new StartupError(`${what} must contain exactly one line, the client secret`)
    return text
  }
  read()
  return createApplicationSource(
    readApplication(config, env),
    parts,
    `check that ${what} is the value of a client secret that has not expired`,
    () => ({ client_secret: read() }),
  )
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const assertionSeconds = 600

function createClientCertificate(config: AzureConfig, parts: CredentialParts): TokenSource | undefined {
  const { env, now, resolvePath } = parts
  const configured = config['root_key_azure.client_certificate_file']
  const path = configured === undefined ? env.AZURE_CLIENT_CERTIFICATE_PATH : resolvePath(configured)
  if (path === undefined) return undefined
  const what =
    configured === undefined ? 'AZURE_CLIENT_CERTIFICATE_PATH' : 'root_key_azure.client_certificate_file'
  const application = readApplication(config, env)
  const assert = (): string => {
    const pem = readPrivateFile(path, what).toString()
    const key = readSigningKey(pem, `${what}: ${path}`)
    const certificate = readCertificate(pem)
    if (certificate?.checkPrivateKey(key) !== true)
      throw new StartupError(`${what}: ${path} does not contain the certificate of its private key, in PEM`)
    const thumbprint = Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex').toString(
      'base64url',
    )
    const nbf = Math.floor(now() / 1000)
    const { clientId, tokenUrl: aud } = application
    const claims = { aud, iss: clientId, sub: clientId, jti: randomUUID(), nbf, exp: nbf + assertionSeconds }
    return signAssertion(key, { alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint }, claims)
  }
  assert()
  return createApplicationSource(
    application,
    parts,
    `check that the certificate of ${path} belongs to the application and has not expired, and the clock of this machine`,
    () => ({ client_assertion_type: assertionType, client_assertion: assert() }),
  )
}

function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

/** A federated credential of the application, which AKS provides to pods. */
function createWorkloadIdentity(config: AzureConfig, parts: CredentialParts): TokenSource | undefined {
  const { AZURE_FEDERATED_TOKEN_FILE: path } = parts.env
  if (path === undefined) return undefined
  const read = (): string => readTokenFile(path, 'AZURE_FEDERATED_TOKEN_FILE')
  read()
  return createApplicationSource(
    readApplication(config, parts.env),
    parts,
    'the application needs a federated credential with the issuer, subject and audience of the token',
    () => ({ client_assertion_type: assertionType, client_assertion: read() }),
  )
}

/** The managed identity of a virtual machine, or of App Service, Container Apps and Functions (`IDENTITY_ENDPOINT`). */
function createManagedIdentity(config: AzureConfig, { env, now, resource }: CredentialParts): TokenSource {
  const clientId = config['root_key_azure.client_id']
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: secret } = env
  const isService = endpoint !== undefined && secret !== undefined
  const base = isService ? endpoint : 'http://169.254.169.254/metadata/identity/oauth2/token'
  const query = new URLSearchParams({
    'api-version': isService ? '2019-08-01' : '2018-02-01',
    resource,
    ...(clientId !== undefined && { client_id: clientId }),
  })
  const headers: Record<string, string> = isService ? { 'x-identity-header': secret } : { metadata: 'true' }
  const origin = URL.canParse(base) ? new URL(base).origin : 'IDENTITY_ENDPOINT'
  return {
    description: `the managed identity of this machine${clientId === undefined ? '' : ` (${clientId})`}`,
    async fetch() {
      const reply = await receive(origin, metadataClient.request('GET', `${base}?${query}`, headers))
      const { json } = reply
      // App Service sends the time of expiration instead of the lifetime.
      const expires = Number(json?.expires_on) - now() / 1000
      const lifetime = json !== undefined && json.expires_in === undefined ? { expires_in: expires } : {}
      const advice = 'assign an identity to this machine; with several, set root_key_azure.client_id'
      return readToken(origin, { ...reply, json: json && { ...json, ...lifetime } }, { now, advice })
    },
  }
}
