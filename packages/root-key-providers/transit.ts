import { readPrivateFile, StartupError } from '@warder/base'
import {
  createOutbound,
  type Outbound,
  type OutboundAccess,
  OutboundError,
  type OutboundResponse,
} from '@warder/outbound'
import { type RootKeyProvider, RootKeyUnavailable } from '@warder/storage'
import type { RootKeyConfig } from './settings.ts'

type Config = Pick<RootKeyConfig, Extract<keyof RootKeyConfig, `root_key_transit.${string}`>> & {
  readonly outbound_ca_file: string | undefined
} & Pick<OutboundAccess, 'proxy'>

const timeoutMs = 10_000
const maxResponseBytes = 65_536

/**
 * Wraps the root key with a key of a transit engine: HashiCorp Vault, OpenBao, or another Warder. The context is the
 * `associated_data`; servers that do not know this member ignore it.
 * @throws StartupError for settings without an address, key or credential, and for files that cannot be used
 */
export function createTransitProvider(
  config: Config,
  resolvePath: (path: string) => string,
): RootKeyProvider {
  const url = requireSetting(config, 'url').replace(/\/$/, '')
  const key = requireSetting(config, 'key')
  const mount = config['root_key_transit.mount']
  const caFile = config['root_key_transit.ca_file'] ?? config.outbound_ca_file
  const server = new TransitServer({
    url,
    namespace: config['root_key_transit.namespace'],
    login: readLogin(config, resolvePath),
    outbound: createOutbound({
      // The address is one of the operator alone, as in `node_url`.
      allowPrivateNetworks: true,
      proxy: config.proxy,
      caFile: caFile === undefined ? undefined : resolvePath(caFile),
      timeoutMs,
      maxBytes: maxResponseBytes,
    }),
  })
  const path = (verb: string): string => `${mount}/${verb}/${encodeURIComponent(key)}`
  return {
    source: 'transit',
    description: `${url} ${mount}/${key}`,
    async wrap(rootKey, context) {
      const ciphertext = await server.call(path('encrypt'), 'ciphertext', {
        plaintext: toBase64(rootKey),
        associated_data: toBase64(context),
      })
      return Buffer.from(ciphertext, 'utf8')
    },
    async unwrap(wrapped, context) {
      const plaintext = await server.call(path('decrypt'), 'plaintext', {
        ciphertext: Buffer.from(wrapped).toString('utf8'),
        associated_data: toBase64(context),
      })
      return Buffer.from(plaintext, 'base64')
    },
  }
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

function requireSetting(config: Config, name: 'url' | 'key'): string {
  const value = config[`root_key_transit.${name}`]
  if (value === undefined) throw new StartupError(`root_key_source transit requires root_key_transit.${name}`)
  return value
}

/** The token of a file, or a login. Files are read at each use, so that replaced ones count. */
type Login =
  | { readonly readToken: () => string }
  | { readonly mount: string; readonly roleId: string; readonly readSecretId: () => string }

function readLogin(config: Config, resolvePath: (path: string) => string): Login {
  const {
    'root_key_transit.token_file': tokenFile,
    'root_key_transit.role_id': roleId,
    'root_key_transit.secret_id_file': secretIdFile,
    'root_key_transit.approle_mount': mount,
  } = config
  const reader = (name: 'token_file' | 'secret_id_file', file: string) => {
    const read = (): string => readLine(resolvePath(file), `root_key_transit.${name}`)
    read()
    return read
  }
  if (tokenFile !== undefined && roleId === undefined && secretIdFile === undefined)
    return { readToken: reader('token_file', tokenFile) }
  if (tokenFile === undefined && roleId !== undefined && secretIdFile !== undefined)
    return { mount, roleId, readSecretId: reader('secret_id_file', secretIdFile) }
  throw new StartupError(
    'root_key_source transit requires root_key_transit.token_file, or root_key_transit.role_id with root_key_transit.secret_id_file',
  )
}

function readLine(path: string, setting: string): string {
  const line = readPrivateFile(path, setting).toString().trim()
  if (!/^[\x21-\x7e]{1,4096}$/.test(line))
    throw new StartupError(`${setting}: ${path} must contain exactly one line, the secret`)
  return line
}

interface TransitServerOptions {
  readonly url: string
  readonly namespace: string | undefined
  readonly login: Login
  readonly outbound: Outbound
}

/** The server with the token for it, which a login obtains and a refusal discards. */
class TransitServer {
  readonly #options: TransitServerOptions
  /** Of the last login; never one of a file. */
  #token: string | undefined

  constructor(options: TransitServerOptions) {
    this.#options = options
  }

  /**
   * Calls an operation; after a refusal of the token once more with a new one.
   * @returns a member of the reply's `data`
   */
  async call(path: string, member: string, body: Readonly<Record<string, string>>): Promise<string> {
    let answer = await this.#post(path, body, await this.#getToken())
    if (answer.status === 403 || answer.status === 401) {
      this.#token = undefined
      answer = await this.#post(path, body, await this.#getToken())
    }
    const value = (this.#read(answer, path).data as Record<string, unknown> | undefined)?.[member]
    if (typeof value !== 'string' || value === '')
      throw new StartupError(
        `${this.#options.url} replied to ${path} without ${member}: is it a transit engine?`,
      )
    return value
  }

  async #getToken(): Promise<string> {
    const { login } = this.#options
    if ('readToken' in login) {
      const token = login.readToken()
      // A token that cannot be renewed is used as long as it is valid.
      await this.#post('auth/token/renew-self', {}, token)
      return token
    }
    if (this.#token !== undefined) return this.#token
    const path = `auth/${login.mount}/login`
    const answer = await this.#post(path, { role_id: login.roleId, secret_id: login.readSecretId() })
    const token = (this.#read(answer, path).auth as Record<string, unknown> | undefined)?.client_token
    if (typeof token !== 'string' || !/^[\x21-\x7e]{1,4096}$/.test(token))
      throw new StartupError(`${this.#options.url} replied to ${path} without a token`)
    this.#token = token
    return token
  }

  async #post(path: string, body: object, token?: string): Promise<OutboundResponse> {
    const { url, namespace, outbound } = this.#options
    const headers = {
      'content-type': 'application/json',
      // Agents of Vault require it against forged requests.
      'x-vault-request': 'true',
      ...(token !== undefined && { 'x-vault-token': token }),
      ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
    }
    try {
      return await outbound.post(`${url}/v1/${path}`, Buffer.from(JSON.stringify(body)), { headers })
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      if (error.code === 'size' || error.code === 'redirect' || error.code === 'url')
        throw new StartupError(`${url} cannot wrap the root key: ${error.message}`, { cause: error })
      throw new RootKeyUnavailable(error.message, { cause: error })
    }
  }

  /** @throws RootKeyUnavailable for a sealed, standby or busy server; StartupError for a refusal */
  #read({ status, body }: OutboundResponse, path: string): Record<string, unknown> {
    const { url } = this.#options
    const reply = parseObject(body)
    if (status >= 200 && status < 300 && reply !== undefined) return reply
    const [sentence] = Array.isArray(reply?.errors) ? reply.errors : []
    const reason =
      typeof sentence === 'string' ? `: ${sentence.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 300)}` : ''
    // 412: a standby that has not received a write yet. 472, 473: a standby.
    if (status >= 500 || [412, 429, 472, 473].includes(status))
      throw new RootKeyUnavailable(`${path} replied ${status}${reason}`)
    throw new StartupError(`${url} refused ${path} with ${status}${reason}`)
  }
}

function parseObject(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
