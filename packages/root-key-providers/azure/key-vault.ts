import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import { type Clock, StartupError, systemClock } from '@warder/base'
import type { RootKeyProvider } from '@warder/storage'
import {
  createCloudClient,
  decodeMember,
  decodeWrapped,
  encodeWrapped,
  isTemporary,
  type Members,
  type Reply,
  toPhrase,
  toRefusalError,
} from '../cloud.ts'
import { type AzureConfig, azureKeyForm } from '../cloud-settings.ts'
import { createBearerClient } from '../oauth.ts'
import { chooseAzureCredentials } from './credentials.ts'

const apiVersion = '7.4'
const digestBytes = 32

/**
 * Wraps the root key with a key of Azure Key Vault or Managed HSM. `RSA-OAEP-256` and `A256KW` (wrapkey, unwrapkey)
 * have no additional data: the digest of the context is wrapped with the root key. `A256GCM` (encrypt, decrypt of
 * Managed HSM) has it. The wrapped bytes record the version of the key, which unwraps them.
 * @param env of the process, for credentials
 * @throws StartupError for settings without a key or credentials, and for files that cannot be used
 */
export function createAzureKeyVaultProvider(
  config: AzureConfig,
  resolvePath: (path: string) => string,
  env: NodeJS.ProcessEnv,
  clock: Clock = systemClock,
): RootKeyProvider {
  const configured = config['root_key_azure.key']
  if (configured === undefined)
    throw new StartupError('root_key_source azure-key-vault requires root_key_azure.key')
  const key = parseKeyId(configured)
  if (key === undefined) throw new StartupError('root_key_azure.key is not the identifier of a key')
  const algorithm = config['root_key_azure.algorithm']
  const outbound = createCloudClient(config['root_key_azure.ca_file'], config, resolvePath)
  const now = (): number => clock.now()
  const resource = toResource(key.vault)
  const source = chooseAzureCredentials(config, { resolvePath, env, outbound, now, resource })
  const request = createBearerClient(key.vault, source, { outbound, now })

  /** @param operation undefined: get the key */
  const send = async (
    operation: Operation | undefined,
    version: string | undefined,
    members: Members = {},
  ): Promise<Members> => {
    const path = [key.name, version, operation].filter((part) => part !== undefined).join('/')
    const url = `${key.vault}/keys/${path}?api-version=${apiVersion}`
    const reply = await request(url, operation && { alg: algorithm, ...members })
    return requireSuccess(reply, { operation: operation ?? 'get', key, account: source.description })
  }

  /** The version that wraps: the version in the settings, or the current one. */
  const findVersion = async (): Promise<string> => {
    if (key.version !== undefined) return key.version
    const current = { ...((await send(undefined, undefined)).key as Members | undefined) }
    const type = toPhrase(current.kty)
    if (type.startsWith('RSA') !== (algorithm === 'RSA-OAEP-256'))
      throw new StartupError(
        `${configured} has the type ${type || 'undefined'}, which does not fit root_key_azure.algorithm ${algorithm}`,
      )
    return requireKeyId(current.kid, undefined).version
  }

  const requireKeyId = (kid: unknown, version: string | undefined): KeyId & { readonly version: string } => {
    const used = parseKeyId(toPhrase(kid))
    if (used?.version === undefined || !isSameKey(used, key) || (version ?? used.version) !== used.version)
      throw new StartupError(
        `${key.vault} used ${toPhrase(kid) === '' ? 'no key' : `the key ${toPhrase(kid)}`}, which is not ${version === undefined ? 'root_key_azure.key' : `the version ${version} of root_key_azure.key`}`,
      )
    return { ...used, version: used.version }
  }

  const call = async (operation: Operation, version: string, members: Members): Promise<Members> => {
    const reply = await send(operation, version, members)
    requireKeyId(reply.kid, version)
    return reply
  }

  return {
    source: 'azure-key-vault',
    description: configured,
    async wrap(rootKey, context) {
      const version = await findVersion()
      const kid = `${key.vault}/keys/${key.name}/${version}`
      if (algorithm === 'A256GCM') {
        const value = { value: toBase64Url(rootKey), aad: toBase64Url(context) }
        const members = await call('encrypt', version, value)
        const [iv, tag] = [readBytes(key, members, 'iv'), readBytes(key, members, 'tag')]
        if (iv.length > 255 || tag.length !== 16)
          throw new StartupError(`${key.vault} replied without a valid iv or tag`)
        return encodeWrapped(
          kid,
          Buffer.concat([Buffer.of(iv.length), iv, tag, readBytes(key, members, 'value')]),
        )
      }
      const value = Buffer.concat([rootKey, digest(context)])
      const members = await call('wrapkey', version, { value: toBase64Url(value) })
      value.fill(0)
      return encodeWrapped(kid, readBytes(key, members, 'value'))
    },
    async unwrap(wrapped, context) {
      const { keyName: kid, ciphertext } = decodeWrapped(wrapped, 'azure-key-vault')
      const recorded = parseKeyId(kid)
      if (recorded?.version === undefined || !isSameKey(recorded, key))
        throw new StartupError(
          `root_key_azure.key is ${configured}, but ${toPhrase(kid)} wrapped the root key: set root_key_azure.key to that key`,
        )
      if (algorithm === 'A256GCM') {
        const ivEnd = 1 + (ciphertext[0] ?? 0)
        const members = await call('decrypt', recorded.version, {
          value: toBase64Url(ciphertext.subarray(ivEnd + 16)),
          iv: toBase64Url(ciphertext.subarray(1, ivEnd)),
          tag: toBase64Url(ciphertext.subarray(ivEnd, ivEnd + 16)),
          aad: toBase64Url(context),
        })
        return readBytes(key, members, 'value')
      }
      const members = await call('unwrapkey', recorded.version, { value: toBase64Url(ciphertext) })
      const value = readBytes(key, members, 'value')
      const end = value.length - digestBytes
      if (end <= 0 || !timingSafeEqual(value.subarray(end), digest(context)))
        throw new StartupError(`${kid} unwrapped a value that is not the root key of this database`)
      return value.subarray(0, end)
    },
  }
}

type Operation = 'wrapkey' | 'unwrapkey' | 'encrypt' | 'decrypt'

interface KeyId {
  /** `https://NAME.vault.azure.net` */
  readonly vault: string
  readonly name: string
  readonly version: string | undefined
}

function parseKeyId(id: string): KeyId | undefined {
  const [, vault, name, version] = azureKeyForm.exec(id) ?? []
  return vault === undefined || name === undefined ? undefined : { vault, name, version }
}

/** Names of keys and vaults are compared without their case, as Key Vault does. */
function isSameKey(one: KeyId, other: KeyId): boolean {
  return `${one.vault}/${one.name}`.toLowerCase() === `${other.vault}/${other.name}`.toLowerCase()
}

/** The audience of tokens: the domain of the vaults of a cloud, such as `https://vault.azure.net`. */
function toResource(vault: string): string {
  const { hostname } = new URL(vault)
  const labels = hostname.split('.')
  return `https://${isIP(hostname) === 0 && labels.length > 2 ? labels.slice(1).join('.') : hostname}`
}

function digest(context: Uint8Array): Buffer {
  return createHash('sha256').update(context).digest()
}

function toBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

/** @throws StartupError */
function readBytes({ vault }: KeyId, members: Members, member: string): Buffer {
  return decodeMember(vault, members, member, 'base64url')
}

interface Called {
  readonly operation: Operation | 'get'
  readonly key: KeyId
  readonly account: string
}

/** @throws RootKeyUnavailable, StartupError */
function requireSuccess({ status, json }: Reply, called: Called): Members {
  if (status === 200 && json !== undefined) return json
  const { operation, key } = called
  const error = { ...(json?.error as Members | undefined) }
  const inner = { ...(error.innererror as Members | undefined) }
  const codes = [toPhrase(error.code), toPhrase(inner.code)].filter((code) => code !== '')
  throw toRefusalError({
    ...{ server: key.vault, operation, code: [status, ...codes].join(' '), message: error.message },
    temporary: isTemporary(status),
    advice: advise(status, codes, called),
  })
}

function advise(
  status: number,
  codes: readonly string[],
  { operation, key, account }: Called,
): string | undefined {
  const [verb, right] =
    operation !== 'encrypt' && operation !== 'decrypt'
      ? ['Key Vault Crypto Service Encryption User', 'get, wrapKey and unwrapKey']
      : ['Managed HSM Crypto User', 'get, encrypt and decrypt']
  if (status === 401)
    return `the token of ${account} is not accepted: check root_key_azure.tenant_id, which must be the tenant of the vault`
  if (codes.includes('KeyDisabled')) return `enable the key: az keyvault key set-attributes --enabled true`
  if (codes.includes('ForbiddenByFirewall'))
    return 'permit the address of this machine in the firewall of the vault'
  if (status === 403)
    return `permit ${right} on ${key.name} to ${account} (role ${verb}, or an access policy); a disabled key is refused in the same way`
  if (status === 404)
    return `there is no such key or version in ${key.vault}: check root_key_azure.key, or recover the key if it was deleted (az keyvault key recover)`
  if (status === 400 && (operation === 'unwrapkey' || operation === 'decrypt'))
    return 'the wrapped root key was changed, or belongs to another key, algorithm or database'
  return codes.length === 0 ? 'is root_key_azure.key in Key Vault or Managed HSM?' : undefined
}
