import { readFileSync } from 'node:fs'
import { parseStrictObject, readPrivateFile, StartupError } from '@warder/base'
import { metadataClient, type Outbound } from '@warder/outbound'
import { RootKeyUnavailable } from '@warder/storage'
import { isTemporary, type Members, readTokenFile, receive, toPhrase } from '../cloud.ts'
import type { GoogleConfig } from '../cloud-settings.ts'
import {
  type AccessToken,
  isToken,
  readSigningKey,
  readToken,
  requestToken,
  signAssertion,
  type TokenSource,
} from '../oauth.ts'

const scope = 'https://www.googleapis.com/auth/cloudkms'
const lifetimeSeconds = 3600

interface CredentialParts {
  readonly resolvePath: (path: string) => string
  readonly env: NodeJS.ProcessEnv
  readonly outbound: Outbound
  readonly now: () => number
}

/** Reads the credentials, and contacts nothing. @throws StartupError for files that cannot be used */
export function chooseGoogleCredentials(config: GoogleConfig, parts: CredentialParts): TokenSource {
  if (config['root_key_google.credentials'] === 'metadata-server') return createMetadataSource(parts)
  const configured = config['root_key_google.credentials_file']
  const path =
    configured === undefined ? parts.env.GOOGLE_APPLICATION_CREDENTIALS : parts.resolvePath(configured)
  if (path === undefined)
    throw new StartupError(
      'root_key_source google-kms requires root_key_google.credentials_file, GOOGLE_APPLICATION_CREDENTIALS, or root_key_google.credentials = "metadata-server"',
    )
  const what =
    configured === undefined ? 'GOOGLE_APPLICATION_CREDENTIALS' : 'root_key_google.credentials_file'
  const { description } = readCredentials(path, what, parts)
  // Read at each use, so that a replaced file counts.
  return { description, fetch: () => readCredentials(path, what, parts).fetch() }
}

function readCredentials(path: string, what: string, parts: CredentialParts): TokenSource {
  const members = readObject(path, what)
  if (members === undefined) throw new StartupError(`${what}: ${path} is not a JSON object`)
  const { universe_domain: universe = 'googleapis.com' } = members
  if (universe !== 'googleapis.com')
    throw new StartupError(`${what}: universe_domain ${toPhrase(universe)} is not supported`)
  switch (members.type) {
    case 'service_account':
      // It contains a private key.
      readPrivateFile(path, what)
      return createServiceAccount(members, `${what}: ${path}`, parts)
    case 'external_account':
      return createExternalAccount(members, `${what}: ${path}`, parts)
    default:
      throw new StartupError(
        `${what}: ${path} has the type ${toPhrase(members.type) || 'undefined'}, which is not supported: it must be service_account or external_account`,
      )
  }
}

function readObject(path: string, what: string): Members | undefined {
  try {
    return parseStrictObject(readFileSync(path))
  } catch (error) {
    throw new StartupError(`${what}: cannot read ${path}: ${error instanceof Error ? error.message : error}`)
  }
}

function requireText(members: Members, name: string, file: string): string {
  const value = members[name]
  if (typeof value !== 'string' || value === '' || value.length > 16_384)
    throw new StartupError(`${file} has no valid ${name}`)
  return value
}

/** A JWT of the service account is exchanged for a token (RFC 7523 §2.1). */
function createServiceAccount(
  members: Members,
  file: string,
  { outbound, now }: CredentialParts,
): TokenSource {
  const email = requireText(members, 'client_email', file)
  const url = requireText(members, 'token_uri', file)
  const key = readSigningKey(requireText(members, 'private_key', file), file)
  const { private_key_id: id } = members
  return {
    description: email,
    fetch() {
      const iat = Math.floor(now() / 1000)
      const header = { alg: 'RS256', typ: 'JWT', ...(typeof id === 'string' && { kid: id }) } as const
      const claims = { iss: email, scope, aud: url, iat, exp: iat + lifetimeSeconds }
      const form = {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: signAssertion(key, header, claims),
      }
      const advice = `check that the key ${toPhrase(id)} of ${email} exists and is enabled, and the clock of this machine`
      return requestToken(outbound, url, form, { now, advice })
    },
  }
}

/** Members of an external account that would change the requests. */
const unsupported = ['workforce_pool_user_project', 'client_id', 'client_secret', 'quota_project_id']

/** Workload identity federation: the token of a file is exchanged (RFC 8693), and a service account impersonated. */
function createExternalAccount(members: Members, file: string, parts: CredentialParts): TokenSource {
  const { outbound, now } = parts
  const [other] = unsupported.filter((name) => members[name] !== undefined)
  if (other !== undefined) throw new StartupError(`${file}: ${other} is not supported`)
  const audience = requireText(members, 'audience', file)
  const url = requireText(members, 'token_url', file)
  const type = requireText(members, 'subject_token_type', file)
  const { service_account_impersonation_url: impersonated } = members
  const readSubject = createSubjectReader(members.credential_source, file)
  readSubject()
  const advice = `the workload identity pool of ${audience} must admit the token of the file: its issuer, audience and attributes`
  return {
    description: audience,
    async fetch() {
      const form = {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        audience,
        // A token for the impersonation needs a wider scope than Cloud KMS.
        scope: impersonated === undefined ? scope : 'https://www.googleapis.com/auth/cloud-platform',
        subject_token_type: type,
        subject_token: readSubject(),
      }
      const federated = await requestToken(outbound, url, form, { now, advice })
      if (impersonated === undefined) return federated
      return impersonate(requireText(members, 'service_account_impersonation_url', file), federated, parts)
    },
  }
}

function createSubjectReader(source: unknown, file: string): () => string {
  const { file: path, format, ...others } = { ...(source as Members | undefined) }
  const [other] = Object.keys(others)
  if (typeof path !== 'string' || other !== undefined)
    throw new StartupError(
      `${file}: credential_source must have a file${other === undefined ? '' : `, ${toPhrase(other)} is not supported`}`,
    )
  const { type = 'text', subject_token_field_name: field } = { ...(format as Members | undefined) }
  if (type !== 'text' && (type !== 'json' || typeof field !== 'string'))
    throw new StartupError(`${file}: format of credential_source must be text, or json with its field`)
  const what = `credential_source of ${file}`
  return () => {
    if (type === 'text') return readTokenFile(path, what)
    const token = readObject(path, what)?.[String(field)]
    if (!isToken(token)) throw new StartupError(`${what}: ${path} has no member ${field} with a token`)
    return token
  }
}

/** generateAccessToken of the IAM Service Account Credentials API. */
async function impersonate(
  url: string,
  { token }: AccessToken,
  { outbound }: CredentialParts,
): Promise<AccessToken> {
  const body = Buffer.from(JSON.stringify({ scope: [scope], lifetime: `${lifetimeSeconds}s` }))
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const { status, json } = await receive(url, outbound.post(url, body, { headers }))
  const { message } = { ...(json?.error as Members | undefined) }
  const reason = `${status} ${toPhrase(message)}`.trim()
  if (isTemporary(status)) throw new RootKeyUnavailable(`${url} replied with ${reason}`)
  const expiresAt = Date.parse(String(json?.expireTime))
  if (status !== 200 || !isToken(json?.accessToken) || Number.isNaN(expiresAt))
    throw new StartupError(
      `${url} refused to impersonate with ${reason}; grant roles/iam.workloadIdentityUser on the service account to the identity of the pool`,
    )
  return { token: json.accessToken, expiresAt }
}

/** The service account of the instance, or of the pod in GKE. */
function createMetadataSource({ env, now }: CredentialParts): TokenSource {
  const origin = `http://${env.GCE_METADATA_HOST ?? '169.254.169.254'}`
  const url = `${origin}/computeMetadata/v1/instance/service-accounts/default/token?scopes=${encodeURIComponent(scope)}`
  return {
    description: `the service account of the metadata server (${origin})`,
    async fetch() {
      const reply = await receive(origin, metadataClient.request('GET', url, { 'metadata-flavor': 'Google' }))
      if (reply.headers['metadata-flavor'] !== 'Google' && !isTemporary(reply.status))
        throw new StartupError(`${origin} is not the metadata server of Google`)
      return readToken(origin, reply, { now, advice: 'attach a service account to the instance or pod' })
    },
  }
}
