import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readPrivateFile, StartupError } from '@warder/base'
import { metadataClient, type Outbound } from '@warder/outbound'
import type { AwsCredential } from '@warder/outbound/sigv4'
import { RootKeyUnavailable } from '@warder/storage'
import {
  type Expiring,
  isTemporary,
  type Reply,
  readTokenFile,
  receive,
  toPhrase,
  toRefusalError,
} from '../cloud.ts'
import type { AwsConfig, awsCredentialSources } from '../cloud-settings.ts'

type SourceName = Exclude<(typeof awsCredentialSources)[number], 'auto'>

export interface AwsCredentialSource {
  /** A variable, file or service, for error messages. */
  readonly description: string
  /** @throws RootKeyUnavailable, StartupError */
  fetch(): Promise<AwsCredential & Expiring>
}

interface CredentialParts {
  readonly resolvePath: (path: string) => string
  readonly env: NodeJS.ProcessEnv
  readonly outbound: Outbound
  readonly stsEndpoint: string
}

type CreateSource = (config: AwsConfig, parts: CredentialParts) => AwsCredentialSource | undefined

/** In the order in which `auto` tries them. Each returns undefined where it is not configured. */
const sources: Readonly<Record<SourceName, CreateSource>> = {
  environment: readEnvironment,
  'web-identity': createWebIdentity,
  container: createContainer,
  file: createFile,
  // Used only if a setting requires it: every process of an instance can get its credentials.
  'instance-metadata': createInstanceMetadata,
}

const requirements: Readonly<Record<SourceName, string>> = {
  environment: 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  'web-identity': 'AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN',
  container: 'AWS_CONTAINER_CREDENTIALS_FULL_URI or AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  file: 'root_key_aws.credentials_file, AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials',
  'instance-metadata': 'an instance of EC2',
}

/**
 * Chooses the source of credentials, and contacts nothing.
 * @throws StartupError if there is none, and for files that cannot be used
 */
export function chooseAwsCredentials(config: AwsConfig, parts: CredentialParts): AwsCredentialSource {
  const name = config['root_key_aws.credentials']
  if (name !== 'auto') {
    const source = sources[name](config, parts)
    if (source === undefined)
      throw new StartupError(`root_key_aws.credentials ${name} requires ${requirements[name]}`)
    return source
  }
  // A file of the settings comes before the environment.
  const names = config['root_key_aws.credentials_file'] === undefined ? automatic : (['file'] as const)
  for (const one of names) {
    const source = sources[one](config, parts)
    if (source !== undefined) return source
  }
  throw new StartupError(
    `root_key_source aws-kms finds no credentials: it requires ${automatic.map((one) => requirements[one]).join('; ')}; or root_key_aws.credentials = "instance-metadata"`,
  )
}

const automatic = ['environment', 'web-identity', 'container', 'file'] as const

/** @throws StartupError for a credential that no header could carry */
function toCredential(
  description: string,
  { id, secret, sessionToken }: { readonly [Name in keyof AwsCredential]?: unknown },
): AwsCredential {
  const isToken = (text: unknown, maxLength: number): text is string =>
    typeof text === 'string' && text.length <= maxLength && /^[\x21-\x7e]+$/.test(text)
  if (typeof id !== 'string' || !/^\w{1,128}$/.test(id) || !isToken(secret, 256))
    throw new StartupError(`${description} contains no valid access key`)
  if (sessionToken !== undefined && !isToken(sessionToken, 16_384))
    throw new StartupError(`${description} contains no valid session token`)
  return { id, secret, sessionToken }
}

function readEnvironment(_: AwsConfig, { env }: CredentialParts): AwsCredentialSource | undefined {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: sessionToken } = env
  if (id === undefined && secret === undefined) return undefined
  const description = 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
  const credential = toCredential(description, { id, secret, sessionToken })
  return { description, fetch: async () => credential }
}

/** Members of a profile that obtain credentials in ways that Warder does not have. */
const otherWays = /^(?:role_arn|source_profile|credential_source|credential_process|sso_\w+|login_session)$/

function createFile(
  config: AwsConfig,
  { resolvePath, env }: CredentialParts,
): AwsCredentialSource | undefined {
  const configured = config['root_key_aws.credentials_file']
  const shared = env.AWS_SHARED_CREDENTIALS_FILE
  const defaultPath = join(env.HOME ?? homedir(), '.aws', 'credentials')
  const [path, what] =
    configured !== undefined
      ? [resolvePath(configured), 'root_key_aws.credentials_file']
      : [shared ?? defaultPath, shared === undefined ? 'the credentials file' : 'AWS_SHARED_CREDENTIALS_FILE']
  if (path === defaultPath && configured === undefined && !existsSync(path)) return undefined
  const profile = env.AWS_PROFILE ?? 'default'
  const description = `profile ${profile} of ${path}`
  const read = (): AwsCredential => {
    const members = readProfile(readPrivateFile(path, what).toString(), profile)
    if (members === undefined) throw new StartupError(`${what}: ${path} has no profile ${profile}`)
    const other = [...members.keys()].find((name) => otherWays.test(name))
    if (!members.has('aws_access_key_id') && other !== undefined)
      throw new StartupError(
        `${description} uses ${other}, which is not supported: name a profile with aws_access_key_id and aws_secret_access_key`,
      )
    const id = members.get('aws_access_key_id')
    return toCredential(description, {
      id,
      secret: members.get('aws_secret_access_key'),
      sessionToken: members.get('aws_session_token'),
    })
  }
  read()
  // Read at each use, so that a replaced file counts.
  return { description, fetch: async () => read() }
}

function readProfile(text: string, profile: string): ReadonlyMap<string, string> | undefined {
  const members = new Map<string, string>()
  let isThere = false
  let current: string | undefined
  for (const line of text.split(/\r?\n/)) {
    const [, name] = /^\[\s*([^\]]+?)\s*\]\s*(?:[#;].*)?$/.exec(line) ?? []
    current = name ?? current
    isThere ||= current === profile
    const [, member, value] = /^([a-z_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (current === profile && member !== undefined && value !== undefined) members.set(member, value)
  }
  return isThere ? members : undefined
}

/** AssumeRoleWithWebIdentity of AWS STS: the token of a Kubernetes service account or another OpenID provider. */
function createWebIdentity(
  _: AwsConfig,
  { env, outbound, stsEndpoint }: CredentialParts,
): AwsCredentialSource | undefined {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role, AWS_ROLE_SESSION_NAME: session } = env
  if (file === undefined && role === undefined) return undefined
  if (file === undefined || role === undefined || !/^arn:aws[a-z-]*:iam::\d{12}:role\/\S{1,600}$/.test(role))
    throw new StartupError(
      `AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, the ARN of a role, are both required`,
    )
  const readToken = (): string => readTokenFile(file, 'AWS_WEB_IDENTITY_TOKEN_FILE')
  readToken()
  return {
    description: `the role ${role}`,
    async fetch() {
      const body = new URLSearchParams({
        Action: 'AssumeRoleWithWebIdentity',
        Version: '2011-06-15',
        RoleArn: role,
        RoleSessionName: session ?? 'warder',
        WebIdentityToken: readToken(),
      })
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const sent = outbound.post(`${stsEndpoint}/`, Buffer.from(body.toString()), { headers })
      const reply = await receive(stsEndpoint, sent)
      const xml = Buffer.from(reply.body).toString('utf8')
      if (reply.status !== 200) throw toStsError(stsEndpoint, role, reply.status, xml)
      const credentials = readElement(xml, 'Credentials') ?? ''
      return toTemporary(`the reply of ${stsEndpoint}`, {
        id: readElement(credentials, 'AccessKeyId'),
        secret: readElement(credentials, 'SecretAccessKey'),
        sessionToken: readElement(credentials, 'SessionToken'),
        expiration: readElement(credentials, 'Expiration'),
      })
    },
  }
}

/**
 * The content of the element with this name; undefined unless there is exactly one. Values in replies of STS contain no
 * XML entities.
 */
function readElement(xml: string, name: string): string | undefined {
  const parts = xml.split(new RegExp(`</?${name}>`))
  return parts.length === 3 ? parts[1]?.trim() : undefined
}

function toStsError(endpoint: string, role: string, status: number, xml: string): Error {
  const error = readElement(xml, 'Error') ?? ''
  const code = toPhrase(readElement(error, 'Code'))
  return toRefusalError({
    ...{ server: endpoint, operation: 'AssumeRoleWithWebIdentity', code: code === '' ? status : code },
    message: readElement(error, 'Message'),
    temporary: isTemporary(status) || code === 'IDPCommunicationError' || code === 'Throttling',
    advice: `the trust policy of ${role} must admit the token of AWS_WEB_IDENTITY_TOKEN_FILE: its issuer, subject and audience`,
  })
}

function toTemporary(
  description: string,
  { expiration, ...key }: Readonly<Record<string, unknown>>,
): AwsCredential & Expiring {
  const expiresAt = typeof expiration === 'string' ? Date.parse(expiration) : Number.NaN
  if (Number.isNaN(expiresAt) || key.sessionToken === undefined)
    throw new StartupError(`${description} contains no temporary access key with its expiration`)
  return { ...toCredential(description, key), expiresAt }
}

const taskAddress = 'http://169.254.170.2'

/** The agent of ECS, or that of EKS Pod Identity. */
function createContainer(_: AwsConfig, { env, outbound }: CredentialParts): AwsCredentialSource | undefined {
  const {
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: path,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: full,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
  } = env
  const url = path === undefined ? full : `${taskAddress}${path}`
  if (url === undefined) return undefined
  const { origin } = URL.canParse(url) ? new URL(url) : { origin: 'AWS_CONTAINER_CREDENTIALS_FULL_URI' }
  const readHeaders = (): Record<string, string> => {
    const authorization =
      file === undefined ? token : readTokenFile(file, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE')
    return authorization === undefined ? {} : { authorization }
  }
  return {
    description: `the container (${origin})`,
    async fetch() {
      const headers = readHeaders()
      const sent = url.startsWith('https:')
        ? outbound.get(url, { headers })
        : metadataClient.request('GET', url, headers)
      return readCredentialReply(origin, await receive(origin, sent))
    },
  }
}

/** Credentials of a container or an instance. */
function readCredentialReply(origin: string, { status, json }: Reply): AwsCredential & Expiring {
  if (status !== 200 || json === undefined || ![undefined, 'Success'].includes(json.Code as undefined)) {
    const said =
      `${origin} replied with ${status} ${toPhrase(json?.message ?? json?.Message ?? json?.Code)}`.trim()
    throw isTemporary(status)
      ? new RootKeyUnavailable(said)
      : new StartupError(`${said}; it must offer the credentials of a role`)
  }
  return toTemporary(`the reply of ${origin}`, {
    id: json.AccessKeyId,
    secret: json.SecretAccessKey,
    sessionToken: json.Token,
    expiration: json.Expiration,
  })
}

/** Instance metadata of EC2, version 2, which requires a session token. */
function createInstanceMetadata(_: AwsConfig, { env }: CredentialParts): AwsCredentialSource {
  const origin = env.AWS_EC2_METADATA_SERVICE_ENDPOINT?.replace(/\/$/, '') ?? 'http://169.254.169.254'
  const folder = `${origin}/latest/meta-data/iam/security-credentials/`
  const request = async (
    method: 'GET' | 'PUT',
    url: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<Reply> => receive(origin, metadataClient.request(method, url, headers))
  return {
    description: `the instance (${origin})`,
    async fetch() {
      const session = await request('PUT', `${origin}/latest/api/token`, {
        'x-aws-ec2-metadata-token-ttl-seconds': '60',
      })
      const token = Buffer.from(session.body).toString('latin1')
      if (session.status !== 200 || !/^[\x21-\x7e]{1,1024}$/.test(token))
        throw new StartupError(
          `${origin} gives no session token (IMDSv2), but ${session.status}: is this an instance of EC2, within the hop limit?`,
        )
      const headers = { 'x-aws-ec2-metadata-token': token }
      const roles = await request('GET', folder, headers)
      const [role = ''] = Buffer.from(roles.body).toString('latin1').split('\n')
      if (roles.status !== 200 || !/^[\w+=,.@-]{1,64}$/.test(role))
        throw new StartupError(`${origin} names no role: attach an instance profile with one`)
      return readCredentialReply(origin, await request('GET', `${folder}${role}`, headers))
    },
  }
}
